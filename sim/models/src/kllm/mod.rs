//! KLLM: the error of its quantization, next to the schemes that the paper compares with.

pub mod baselines;
pub mod calibration;
pub mod language_model;
pub mod quantization;
pub mod scheme;
