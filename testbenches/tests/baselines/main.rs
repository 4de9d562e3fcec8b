//! The blocks of the baselines, a file each.

mod bit_serial_pe;
mod exponent_pe;
mod olive_decoder;
mod outlier_pe_group;
