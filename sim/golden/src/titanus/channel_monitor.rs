//! The tolerance test and the extension of a level: [`Level::tolerates`] and [`Level::extended`].

pub use super::level::Level;
