//! Testbenches of KLLM's blocks.

pub mod concat_unit;
pub mod index_distribution_counter;
pub mod orizuru;
pub mod orizuru_unit;
pub mod vectors;
