//! Complete accelerators: work from memory, results to memory.

pub mod engine;
pub mod kelle;
pub mod kllm;
pub mod registers;
pub mod rows;
pub mod sizes;
pub mod sparse;
pub mod tender;
pub mod titanus;
pub mod top;
pub mod vector;
