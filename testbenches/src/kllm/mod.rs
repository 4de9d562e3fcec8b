//! Testbenches of KLLM's blocks.

pub mod clustering_unit;
pub mod concat_unit;
pub mod floats;
pub mod fp16_mac;
pub mod index_distribution_counter;
pub mod index_matmul_column;
mod interrupted;
pub mod orizuru;
pub mod orizuru_unit;
pub mod pe_lane;
pub mod scaling_unit;
pub mod vectors;
pub mod weighted_sum;
