//! Parts on AMBA buses.

mod axi_arbiter;
mod axi_lite_registers;
mod axi_read_dma;
mod axi_write_dma;
