//! Benches of the blocks through which a host sees an accelerator.

pub mod dispatcher;
pub mod event_counters;
pub mod job_controller;
pub mod job_link;
pub mod operand_check;
pub mod shell_registers;
