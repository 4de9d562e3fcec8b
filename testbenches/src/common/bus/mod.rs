//! Benches of parts on AMBA buses.

pub mod axi_lite_registers;
