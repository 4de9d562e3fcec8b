//! Testbenches of what the papers compare themselves with.

pub mod ant_decoder;
pub mod exponent_pe;
pub mod olive_decoder;
