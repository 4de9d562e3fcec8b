//! The parts that more than one paper uses, a file each.

#[path = "../fault_support/mod.rs"]
mod fault_support;

mod arith;
mod bus;
mod compactor;
mod crc32;
mod expander;
mod float;
mod mac_mesh;
mod memory;
mod shell;
mod skew_lines;
mod stream;
