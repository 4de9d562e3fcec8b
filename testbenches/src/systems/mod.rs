//! Benches of complete accelerators: programs in memory, a host on the registers, a bus that does whatever AXI allows.

pub mod vector_top;
