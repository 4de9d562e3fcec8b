//! Complete accelerators behind the shell: what a job does to memory, and what the registers say of it.

pub mod memory;
pub mod vector_top;
