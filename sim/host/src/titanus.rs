//! Jobs of `titanus_core`: weights that stay, products with them and with cached keys and values, the cache, and the
//! steps of [`vector`](crate::vector) on rows.
//!
//! The core keeps state from job to job. [`Held`] is the part of the state that operations are checked against.

mod caps;
mod check;
mod held;
mod job;
/// Registers, the shell's included. The file is generated from the default configuration, and a test of the generator
/// compares it with the hardware. Registers that show parameters have the values of that configuration.
#[path = "generated/titanus_core.rs"]
pub mod registers;
mod shared;

pub use caps::{Caps, Counts, Damage, Overflow};
pub use check::check;
pub use held::Held;
pub use job::{
    AppendJob, Areas, Constant, LinkJob, LoadJob, Matrix, Opening, Product, ProductJob, RestoreJob, TokenRows,
    constants,
};
pub use registers::operations;
