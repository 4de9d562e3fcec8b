//! The parts that more than one paper uses, a file each.

mod arith;
mod bus;
mod compactor;
mod crc32;
mod expander;
mod float;
mod mac_mesh;
mod memory;
mod row;
mod shell;
mod skew_lines;
mod stream;
