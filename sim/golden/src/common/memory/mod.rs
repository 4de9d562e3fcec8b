//! Memories, and units of several memories.

pub mod banked_memory;
pub mod double_buffer;
pub mod ram;
pub mod single_port_ram;
