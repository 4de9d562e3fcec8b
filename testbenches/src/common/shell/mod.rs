//! Benches of what a complete accelerator is from outside.

pub mod job_controller;
pub mod shell_registers;
