//! Parts that more than one paper uses.

pub mod mac_mesh;
pub mod ram;
