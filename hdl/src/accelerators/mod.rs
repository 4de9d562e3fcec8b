//! Complete accelerators: work from memory, results to memory.

mod engines;
pub mod kelle;
pub mod kllm;
mod rows;
pub mod sparse;
pub mod tender;
pub mod titanus;
pub mod vector;
