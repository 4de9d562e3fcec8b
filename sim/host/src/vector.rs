//! Jobs of `vector_top`: rows of fp16 numbers through a list of steps.

mod caps;
mod check;
mod job;
pub mod layout;
pub mod registers;

pub use caps::{Caps, Function, overflows};
pub use check::check;
pub use job::{Epsilon, Integer, Operand, VectorJob};
