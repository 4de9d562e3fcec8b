//! A cache has no model of its own. Its bits decay as in its banks, the refreshes of each pair of groups follow its
//! controller, and its scores follow its score file. Its bench checks it against these three models.

pub use super::edram_bank::{Bank, Distribution};
pub use super::refresh_controller::{Checker, Intervals, Operation, Violation};
pub use super::score_register_file::ScoreFile;
