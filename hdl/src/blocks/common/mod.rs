//! Parts that more than one paper uses.

mod mac_mesh;

pub use mac_mesh::{MacMesh, MacMeshPorts, MacPe, MacPePorts};
