//! Blocks of Tender: power-of-two channel groups, and systolic arrays whose PEs only gain a shifter.

pub mod multi_scale_array;
pub mod tender_pe;

pub use multi_scale_array::MultiScaleArray;
pub use tender_pe::{Drain, Overflow, Rescale, TenderPe};
