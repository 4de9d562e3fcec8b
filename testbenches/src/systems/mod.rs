//! Benches and programs of complete accelerators: a host on the registers, jobs in memory, a bus that does whatever AXI allows.

pub mod c_program;
pub mod hardware;
pub mod software;
pub mod vector_top;
