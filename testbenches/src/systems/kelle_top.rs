//! `kelle_top` between a host and a memory: chains of products, attention, rows and what belongs to them.

mod bench;
pub mod program;

pub use bench::{bench, golden_of};
