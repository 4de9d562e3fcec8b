//! The blocks: parameterised hardware, one file each, by paper.

pub mod common;
pub mod kllm;
