//! Hardware construction: a run-time elaborated language, its Verilog printer, and the blocks.
//!
//! This crate does no I/O, starts no processes and no threads.

// The macros name this crate as its users do.
extern crate self as hdl;

pub mod accelerators;
pub mod blocks;
pub mod emit;
pub mod lang;
pub mod mutate;
