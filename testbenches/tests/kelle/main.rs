//! The blocks of Kelle, a file each, and decoding on all of them.

mod decode;
mod edram_bank;
mod eviction_controller;
mod kv_bank_group;
mod kv_cache;
mod reconfigurable_array;
mod refresh_controller;
mod score_memory;
mod score_register_file;
mod systolic_evictor;
