//! The parts that more than one paper uses, a file each.

mod arith;
mod compactor;
mod crc32;
mod expander;
mod float;
mod mac_mesh;
mod memory;
mod skew_lines;
mod stream;
