//! Jobs of `vector_top`: rows of fp16 numbers through a list of steps.

mod caps;
mod check;
mod job;
/// Registers, the shell's included. The file is generated from the default configuration, and a test of the generator
/// compares it with the hardware. `VECTOR_CAPS` and `FUNCTION` have the values of that configuration.
#[path = "generated/vector_top.rs"]
pub mod registers;

pub use caps::{Caps, Function, Units, overflows};
pub use check::check;
pub(crate) use check::operands;
pub use job::{Epsilon, Integer, Operand, VectorJob};
pub use registers::operations;
