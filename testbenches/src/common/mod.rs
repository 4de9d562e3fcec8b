//! Benches of the parts that more than one paper uses.

pub mod compactor;
pub mod mac_mesh;
