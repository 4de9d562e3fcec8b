//! KLLM: the error of its quantisation, beside the schemes that the paper compares with.

pub mod baselines;
pub mod quantisation;
