//! What a complete accelerator is from outside.

pub mod event_counters;
pub mod job_controller;
pub mod shell_registers;
