//! What a complete accelerator is from outside.

mod job_controller;
mod shell_registers;
