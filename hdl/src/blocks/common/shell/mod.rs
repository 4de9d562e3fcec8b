//! What a complete accelerator is from outside: registers, jobs, counters.

pub mod event_counters;
pub mod job_controller;
pub mod job_shell;
pub mod shell_registers;

pub use event_counters::{EventCounters, EventCountersPorts};
pub use job_controller::{JobController, JobControllerPorts, Operation, OperationEnd};
pub use job_shell::{JobShell, JobShellPorts};
pub use shell_registers::{ShellFields, ShellRegisters, ShellRegistersPorts};
