//! Blocks that streams go through.

mod stream_arbiter;
mod stream_fifo;
mod stream_fork;
mod stream_join;
mod stream_register;
mod stream_width_converter;
