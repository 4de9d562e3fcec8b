//! Score memory: it shows the same scores as the registers of a [`ScoreFile`], whose scores all age at once. Its own
//! scores age when they are read. This makes no difference as long as each score is written between two ageings, which
//! its bench ensures.

pub use super::score_register_file::ScoreFile;
