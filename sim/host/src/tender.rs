//! Jobs of `tender_top`: products of integer matrices whose channels come in groups, fp16 numbers that become integers, and
//! the steps of [`vector`](crate::vector) on rows.

mod caps;
mod check;
mod constants;
mod job;
pub mod layout;
mod panels;
/// Registers, those of the shell included. The file is the generated one of the default configuration itself, which a test of
/// the generator keeps equal to the hardware; what the registers of its parameters read as is that configuration's.
#[path = "generated/tender_top.rs"]
pub mod registers;
mod table;

pub use caps::{Caps, Overflows};
pub use check::check;
pub use constants::Constants;
pub use job::{MatMulJob, PackJob, Product};
pub use panels::{Panels, Sign};
pub use table::{Table, TableError};
