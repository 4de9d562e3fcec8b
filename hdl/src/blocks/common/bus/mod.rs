//! Parts on AMBA buses: AXI4 ports, DMAs between memory and streams, and registers on AXI4-Lite.

pub mod axi;
pub mod axi_arbiter;
pub mod axi_lite;
pub mod axi_lite_registers;
pub mod axi_read_dma;
mod axi_slice;
mod axi_turns;
pub mod axi_watch;
pub mod axi_write_dma;
mod bursts;
pub mod dma;
pub mod dma_bank;
mod properties;
mod records;
mod resize;
mod rows;
mod slots;

pub use axi::AxiSpec;
pub use axi_arbiter::{AxiArbiter, AxiArbiterPorts};
pub use axi_lite::{AxiLite, AxiLiteSubordinate, AxiLiteSubordinates};
pub use axi_lite_registers::{AxiLiteRegisters, AxiLiteRegistersPorts, serve};
pub use axi_read_dma::{AxiReadDma, AxiReadDmaPorts, RowBeat};
pub use axi_write_dma::{AxiWriteDma, AxiWriteDmaPorts};
pub use dma::{DmaCommand, DmaCompletion, DmaSpec};
pub use dma_bank::{DmaBank, DmaBankPorts, DmaStreamPorts};
