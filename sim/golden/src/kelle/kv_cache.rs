//! A cache has no model of its own: it forgets as its banks do, each pair of groups is refreshed as its controller says, and it
//! keeps scores as its file does. Its bench judges it by all three.

pub use super::edram_bank::{Bank, Distribution};
pub use super::refresh_controller::{Checker, Intervals, Operation, Violation};
pub use super::score_register_file::ScoreFile;
