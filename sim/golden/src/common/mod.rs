//! Parts that more than one paper uses.

pub mod float;
pub mod compactor;
pub mod mac_mesh;
pub mod ram;
