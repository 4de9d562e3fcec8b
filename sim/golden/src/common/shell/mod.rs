//! The parts of a complete accelerator that its host sees.

pub mod dispatcher;
pub mod event_counters;
pub mod job_controller;
pub mod job_link;
pub mod operand_check;
pub mod shell_registers;
