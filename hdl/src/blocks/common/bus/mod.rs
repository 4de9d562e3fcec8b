//! AXI4: ports, DMAs between memory and streams, and an arbiter for several of them on one port.

pub mod axi;
pub mod axi_arbiter;
pub mod axi_read_dma;
pub mod axi_write_dma;
mod bursts;
pub mod dma;
mod properties;
mod records;
mod rows;
mod slots;

pub use axi::AxiSpec;
pub use axi_arbiter::{AxiArbiter, AxiArbiterPorts};
pub use axi_read_dma::{AxiReadDma, AxiReadDmaPorts, RowBeat};
pub use axi_write_dma::{AxiWriteDma, AxiWriteDmaPorts};
pub use dma::{DmaCommand, DmaCompletion, DmaSpec};
