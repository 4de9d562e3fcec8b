//! Golden models of KLLM: LLM inference with K-Means-quantised weights and activations.

pub mod clustering_unit;
pub mod concat_unit;
pub mod fp16_mac;
pub mod index_distribution_counter;
pub mod index_matmul_column;
pub mod orizuru;
pub mod weighted_sum;
