//! The crane: one accelerator of the ideas of four papers, on Senbazuru. README.md says what it is and what it costs.

pub mod bench;
pub mod costs;
pub mod engine;
pub mod golden;
pub mod host;
pub mod lowering;
pub mod operation;
pub mod packing;
/// Registers and descriptors as constants, for drivers: what `gen` writes.
pub mod registers;
pub mod row;
pub mod scheme;
pub mod top;
