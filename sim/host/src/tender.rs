//! Jobs of `tender_top`: products of integer matrices whose channels come in groups, fp16 numbers that become integers, and
//! the steps of [`vector`](crate::vector) on rows.

mod caps;
mod check;
mod constants;
mod job;
pub mod layout;
mod panels;
mod table;

pub use caps::Caps;
pub use check::check;
pub use constants::Constants;
pub use job::{MatMulJob, PackJob, Product};
pub use panels::{Panels, Sign};
pub use table::{Table, TableError};
