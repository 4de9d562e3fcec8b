//! Blocks of Tender: power-of-two channel groups, and systolic arrays whose PEs only gain a shifter.

pub mod mesh_pe;
pub mod multi_scale_array;
pub mod tender_pe;
pub mod weight_stationary_array;
pub mod ws_accumulator;
pub mod ws_pe;

pub use mesh_pe::{MeshPe, MeshPePorts, MeshPorts, array_of};
pub use multi_scale_array::{ArrayedPe, MultiScaleArrayOf, TileStep};
pub use tender_pe::{Drain, Multiplier, Overflow, Rescale, RowOfSums, TenderPe};
pub use weight_stationary_array::{ActVector, WeightRow, WeightStationaryArray};
pub use ws_accumulator::WsAccumulator;
pub use ws_pe::WsPe;

/// The array of Tender's PE.
pub type MultiScaleArray = MultiScaleArrayOf<TenderPe>;
