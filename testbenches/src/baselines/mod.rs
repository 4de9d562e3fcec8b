//! Testbenches of the units that the papers compare themselves with.

pub mod bit_serial_pe;
pub mod exponent_pe;
pub mod olive_decoder;
pub mod outlier_pe_group;
