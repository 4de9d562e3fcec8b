//! Parts on AMBA buses.

mod axi_lite_registers;
