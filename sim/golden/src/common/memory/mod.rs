//! Memories, and what is made of several.

pub mod banked_memory;
pub mod double_buffer;
pub mod ram;
pub mod single_port_ram;
