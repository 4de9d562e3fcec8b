//! What a complete accelerator is from outside.

pub mod event_counters;
pub mod job_controller;
pub mod job_link;
pub mod operand_check;
pub mod shell_registers;
