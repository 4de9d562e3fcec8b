//! Golden models of the papers' baselines: number formats of ANT and OliVe, and the processing elements of ANT, OliVe,
//! OLAccel and BitMoD.

pub mod bit_serial_pe;
pub mod exponent_pe;
pub mod olive_decoder;
pub mod outlier_pe_group;
