//! Jobs of `tender_top`: products of integer matrices whose channels come in groups, fp16 numbers that become integers,
//! and the steps of [`vector`](crate::vector) on rows.

mod caps;
mod check;
mod constants;
mod job;
mod panels;
/// Registers, the shell's included. The file is generated from the default configuration, and a test of the generator
/// compares it with the hardware. Registers that show parameters have the values of that configuration.
#[path = "generated/tender_top.rs"]
pub mod registers;
mod table;

pub use caps::{Caps, Overflows};
pub use check::check;
pub use constants::Constants;
pub use job::{MatMulJob, Pack, PackJob, Product};
pub use panels::{Panels, Sign};
pub use registers::operations;
pub use table::{Table, TableError};
