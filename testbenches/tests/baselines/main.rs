//! The blocks of the baselines, a file each.

mod ant_decoder;
mod exponent_pe;
mod olive_decoder;
