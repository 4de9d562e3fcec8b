//! An accelerator on Senbazuru: hardware, golden model, bench, and the host's side of it.

pub mod bench;
pub mod golden;
pub mod host;
pub mod operation;
/// Registers and descriptors as constants, for drivers: what `gen` writes.
pub mod registers;
pub mod top;
