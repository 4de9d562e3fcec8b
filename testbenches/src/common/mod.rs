//! Benches of the parts that more than one paper uses.

pub mod float;
pub mod compactor;
pub mod mac_mesh;
pub mod skew_lines;
pub mod ram;
