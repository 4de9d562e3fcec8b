//! Score memory: what it shows is what the registers of a [`ScoreFile`] would, whose scores all age at once. That its own age when they
//! are read is not to be seen, as long as each is written between two ageings: its bench sees to that.

pub use super::score_register_file::ScoreFile;
