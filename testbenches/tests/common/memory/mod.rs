//! Memories, and what is made of several.

mod banked_memory;
mod double_buffer;
mod ram;
mod single_port_ram;
