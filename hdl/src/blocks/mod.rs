//! The blocks: parameterised hardware, one file each, by paper.

pub mod baselines;
pub mod common;
pub mod kelle;
pub mod kllm;
pub mod tender;
pub mod titanus;
