//! Testbenches of KLLM's blocks.

pub mod baselines;
pub mod orizuru;
pub mod orizuru_unit;
pub mod quantisation;
pub mod vectors;
