//! Jobs of `vector_top`: rows of fp16 numbers through a list of steps.

mod caps;
mod check;
mod job;
pub mod layout;
/// Registers, those of the shell included. The file is the generated one of the default configuration itself, which a test of
/// the generator keeps equal to the hardware; what `CAPS` and `FUNCTION` read as is that configuration's.
#[path = "generated/vector_top.rs"]
pub mod registers;

pub use caps::{Caps, Function, Units, overflows};
pub use check::check;
pub use job::{Epsilon, Integer, Operand, VectorJob};
