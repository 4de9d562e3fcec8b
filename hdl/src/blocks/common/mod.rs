//! Parts that more than one paper uses.

pub mod mac_mesh;
pub mod number_format;
pub mod ram;

pub use mac_mesh::{MacMesh, MacMeshPorts, MacPe, MacPePorts};
pub use number_format::{NanPolicy, NumberFormat};
pub use ram::{Ram, RamImplementation, RamPorts};
