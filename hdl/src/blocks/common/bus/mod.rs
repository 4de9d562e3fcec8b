//! Parts on AMBA buses.

pub mod axi_lite;
pub mod axi_lite_registers;

pub use axi_lite::{AxiLite, AxiLiteSubordinate};
pub use axi_lite_registers::{AxiLiteRegisters, AxiLiteRegistersPorts, serve};
