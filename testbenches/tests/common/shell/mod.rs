//! The blocks through which a host sees an accelerator.

mod dispatcher;
mod event_counters;
mod job_controller;
mod job_link;
mod operand_check;
mod shell_registers;
