//! Parts that more than one paper uses.

pub mod compactor;
pub mod expander;
pub mod float;
pub mod mac_mesh;
pub mod number_format;
pub mod pipeline;
pub mod ram;
pub mod skew_lines;

pub use compactor::{Compactor, CompactorPorts};
pub use expander::{Expander, ExpanderPorts};
pub use float::{FloatAdd, FloatCompare, FloatConvert, FloatFma, FloatFormat, FloatFromInt, FloatMul, Subnormals};
pub use mac_mesh::{MacMesh, MacMeshPorts, MacPe, MacPePorts};
pub use number_format::{NanPolicy, NumberFormat};
pub use pipeline::{Pipeline, PipelineStage};
pub use ram::{Ram, RamImplementation, RamPorts};
pub use skew_lines::{SkewDirection, SkewLines, SkewLinesPorts};
