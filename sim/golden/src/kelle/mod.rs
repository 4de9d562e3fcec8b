//! Kelle: the KV cache in embedded DRAM, with eviction by attention (AERP) and refresh by importance (2DRP).

pub mod aerp;
pub mod decode;
pub mod edram_bank;
pub mod eviction_controller;
pub mod kv_bank_group;
pub mod kv_cache;
pub mod lifetime;
pub mod reconfigurable_array;
pub mod refresh_controller;
pub mod schedule;
pub mod score_memory;
pub mod score_register_file;
pub mod systolic_evictor;
