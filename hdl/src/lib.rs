//! Hardware construction: a run-time elaborated language, its Verilog printer, and the blocks.
//!
//! This crate does no I/O, starts no processes and no threads.

pub mod blocks;
pub mod emit;
pub mod lang;
