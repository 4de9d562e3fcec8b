//! The shell of a complete accelerator: registers, jobs, counters.

pub mod command_list;
pub mod dispatcher;
pub mod event_counters;
pub mod job_controller;
pub mod job_error;
pub mod job_host;
pub mod job_link;
pub mod job_shell;
pub mod job_walker;
pub mod link_operation;
pub mod operand_check;
pub mod operand_list;
pub mod operation_controller;
pub mod shell_registers;

pub use command_list::{CommandList, CommandListPorts};
pub use dispatcher::{Dispatcher, DispatcherPorts, Given};
pub use event_counters::{EventCounters, EventCountersPorts};
pub use job_controller::{JobController, JobControllerPorts, Operation, OperationEnd, OperationSpec};
pub use job_host::JobHostPorts;
pub use job_link::{JobLink, JobLinkPorts, Token};
pub use job_shell::{JobShell, JobShellPorts};
pub use job_walker::{JobWalker, JobWalkerPorts};
pub use link_operation::{LinkOperation, LinkOperationPorts};
pub use operand_check::{Operand, OperandCheck, OperandCheckPorts, Verdict};
pub use operand_list::{OperandList, OperandListPorts};
pub use operation_controller::{OperationController, OperationControllerPorts, Own, Place, first_error};
pub use shell_registers::{BusCaps, ShellFields, ShellRegisters, ShellRegistersPorts};
