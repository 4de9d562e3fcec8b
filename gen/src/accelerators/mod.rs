//! Accelerators that are written as a user's crate would write them: with what the packages offer, and in one folder.

pub mod reduce;
