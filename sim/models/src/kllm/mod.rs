//! KLLM: the error of its quantization, beside the schemes that the paper compares with.

pub mod baselines;
pub mod language_model;
pub mod quantization;
