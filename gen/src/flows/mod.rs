//! Flows on Verilog: they run external tools and read their answers.
//!
//! A flow takes text and a manifest, not a block, and returns a value; it prints nothing. [`lint`] is the gate,
//! [`synth`] counts cells, [`prove`] and [`pdr`] ask about properties. [`equal`] and [`diff`] ask whether two designs
//! do the same. [`layout`] places and routes, and [`sram`] puts memories into macros. [`energy`] sums over a netlist in cells of a library, which [`liberty`] reads.

pub mod diff;
pub mod energy;
pub mod equal;
pub mod fpga;
pub mod layout;
pub mod liberty;
pub mod lint;
pub mod pdr;
pub mod prove;
pub mod sram;
pub mod synth;
pub mod timing;
pub mod tools;
pub mod workspace;
pub mod yosys;
