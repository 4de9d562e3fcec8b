//! Testbenches of KLLM's blocks.

pub mod orizuru;
pub mod orizuru_unit;
pub mod vectors;
