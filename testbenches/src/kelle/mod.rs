//! Testbenches of Kelle: key-value caches in eDRAM with adaptive refresh and a systolic evictor.

pub mod decode_hardware;
pub mod edram_bank;
pub mod eviction_controller;
pub mod kv_bank_group;
pub mod kv_cache;
pub mod reconfigurable_array;
pub mod refresh_controller;
pub mod refresh_runs;
pub mod score_memory;
pub mod score_register_file;
pub mod systolic_evictor;
