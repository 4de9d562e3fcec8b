//! Complete accelerators: work from memory, results to memory.

pub mod vector;
