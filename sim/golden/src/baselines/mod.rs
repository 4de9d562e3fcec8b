//! Golden models of what the papers compare themselves with: number formats of ANT and OliVe, and their processing element.

pub mod ant_decoder;
pub mod exponent_pe;
pub mod olive_decoder;
