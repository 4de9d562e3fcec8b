//! Memories, and blocks of several memories.

pub mod banked_memory;
pub mod double_buffer;
mod memory_bank;
pub(crate) mod port_names;
pub mod ram;
pub mod single_port_ram;
mod sram_macro;

pub use banked_memory::{BankedMemory, BankedMemoryPorts};
pub use double_buffer::{DoubleBuffer, DoubleBufferPorts};
pub use memory_bank::MemoryBank;
pub use ram::{Ram, RamImplementation, RamPorts};
pub use single_port_ram::{SinglePortRam, SinglePortRamPorts};
pub use sram_macro::SramMacro;
