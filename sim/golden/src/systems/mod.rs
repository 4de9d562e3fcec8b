//! Complete accelerators behind the shell: what a job does to memory, and what the registers say of it.

pub mod job;
pub mod memory;
mod operand;
pub mod vector_top;
