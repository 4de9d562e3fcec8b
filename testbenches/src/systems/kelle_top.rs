//! `kelle_top` between a host and a memory: chains of products, attention, rows and what belongs to them.

pub mod program;
