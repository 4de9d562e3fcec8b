//! What a complete accelerator is from outside.

mod event_counters;
mod job_controller;
mod job_link;
mod operand_check;
mod shell_registers;
