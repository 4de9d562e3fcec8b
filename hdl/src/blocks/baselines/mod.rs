//! The circuits with which the papers compare their own: processing elements and decoders of ANT, OliVe, OLAccel and
//! BitMoD, built by us.

pub mod bit_serial_pe;
pub mod exponent_pe;
pub mod olive_decoder;
pub mod outlier_pe_group;

pub use bit_serial_pe::BitSerialPe;
pub use exponent_pe::ExponentPe;
pub use olive_decoder::OliveDecoder;
pub use outlier_pe_group::OutlierPeGroup;

use super::tender::MultiScaleArrayOf;

/// The array of the PEs of ANT and OliVe.
pub type ExponentArray = MultiScaleArrayOf<ExponentPe>;
