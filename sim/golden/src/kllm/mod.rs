//! Golden models of KLLM: LLM inference with K-Means-quantised weights and activations.

pub mod orizuru;
