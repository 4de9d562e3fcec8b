//! Jobs of `titanus_core`: weights that stay, products with them and with cached keys and values, the cache, and the steps of
//! [`vector`](crate::vector) on rows.
//!
//! The core remembers from job to job; what it must hold for an operation is in [`Held`].

mod caps;
mod check;
mod held;
mod job;
pub mod layout;
/// Registers, those of the shell included. The file is the generated one of the default configuration itself, which a test of
/// the generator keeps equal to the hardware; what the registers of its parameters read as is that configuration's.
#[path = "generated/titanus_core.rs"]
pub mod registers;

pub use caps::{Caps, Counts, Damage, Overflow};
pub use check::check;
pub use held::Held;
pub use job::{AppendJob, Constant, LinkJob, LoadJob, Matrix, ProductJob, RestoreJob, constants};
