//! Kelle: the KV cache in embedded DRAM, with eviction by attention (AERP) and refresh by importance (2DRP).

pub mod aerp;
pub mod decode;
pub mod eviction;
pub mod evictor;
pub mod lifetime;
pub mod refresh;
pub mod retention;
pub mod schedule;
pub mod score_file;
