//! Parts that more than one paper uses.

pub mod arith;
pub mod bus;
pub mod compactor;
pub mod crc32;
pub mod expander;
pub mod float;
pub mod inner_product;
pub mod mac_mesh;
pub mod memory;
pub mod pairs;
pub mod parallel;
pub mod row;
pub mod shell;
pub mod skew_lines;
pub mod stream;
