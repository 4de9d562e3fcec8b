//! Golden models of KLLM: LLM inference with K-Means-quantized weights and activations.
//!
//! The algorithm of the paper's section III, in software: [`kmeans`] trains [`codebook`]s, [`outliers`] splits a token,
//! [`quantize`] turns tensors into indices, and the rest computes on indices.

pub mod activation;
pub mod clustering_unit;
pub mod codebook;
pub mod concat_unit;
pub mod error;
pub mod fp16;
pub mod fp16_mac;
pub mod index_distribution_counter;
pub mod index_matmul;
pub mod index_matmul_column;
pub mod kmeans;
pub mod norm;
pub mod orizuru;
pub mod orizuru_unit;
pub mod outliers;
pub mod pe_lane;
pub mod quantize;
pub mod scaling_unit;
pub mod weighted_sum;
