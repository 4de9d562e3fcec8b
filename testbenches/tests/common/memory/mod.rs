//! Memories, and blocks made of several memories.

mod banked_memory;
mod double_buffer;
mod ram;
mod single_port_ram;
