//! A group of banks has no model of its own. Its bits decay as in its banks, its refreshes follow its controller, and
//! its scores follow its score file. Its bench checks it against these three models.

pub use super::edram_bank::{Bank, Distribution};
pub use super::refresh_controller::{Checker, Intervals, Operation, Violation};
pub use super::score_register_file::ScoreFile;
