//! Searches: the best settings of schemes of numbers, and of accelerators, for objectives that a file names.
//!
//! [`Spec`] is what a file asks for, [`Space`] says which integers a search changes, and [`Subject`] computes the worth of
//! a setting. Each worth is filed in the store of sweeps at once. So a search that was stopped goes on, and any number of
//! machines can work on it.

mod axes;
mod file;
mod narrow;
mod space;
mod subject;
mod text;
mod told;

pub use axes::{Target, Variable};
pub use file::{Objective, Spec};
pub use space::Setting;
pub use subject::{Subject, Worth};
pub use text::Language;
pub(crate) use told::{csv, drawing, front, objectives, tables};
