//! What a complete accelerator is from outside: registers, jobs, counters.

pub mod event_counters;
pub mod job_controller;
pub mod shell_registers;

pub use event_counters::{EventCounters, EventCountersPorts};
pub use job_controller::{JobController, JobControllerPorts, Operation, OperationEnd};
pub use shell_registers::{ShellFields, ShellRegisters, ShellRegistersPorts};
