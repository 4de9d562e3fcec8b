//! Co-simulation.
mod bits;
mod error;
pub mod lint;
pub mod process;
mod runner;
pub mod stimulus;
mod verilator;
pub use bits::{Bits, DoesNotFit};
pub use error::{Error, Result};
pub use verilator::{BuildOptions, Cache, Coverage, Design, Dir, In, Initial, Model, Opt, Out, Port, Ratio, Sim, SourceFile, Trace};
