//! Complete accelerators behind the shell: what a job does to memory, and what the registers say of it.

pub mod cycles;
#[cfg(test)]
mod descriptor;
pub mod device;
pub mod execution_controller;
pub mod job;
pub mod kllm_top;
pub mod memory;
mod operand;
mod pieces;
pub mod tender_top;
pub mod vector_top;
