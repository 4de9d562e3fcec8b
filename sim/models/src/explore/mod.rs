//! Search for the settings that are best in two objectives.
//!
//! A setting is a list of integers, each from 0 to a limit of its own. Its worth is two numbers; less is better.
//! Everything is a function of the seed. So an interrupted search can go on from stored results ([`store`]).

use std::sync::Arc;

pub use point::{Evaluate, Genes, Objectives, Point};
pub use subject::{Explored, Headings, Step, Subject};

pub mod front;
pub mod nsga2;
mod point;
pub mod store;
mod subject;

/// Subjects by name.
pub type Subjects = Vec<Arc<dyn Subject>>;

/// The subjects of the studies.
#[must_use]
pub fn subjects() -> Subjects {
    vec![Arc::new(crate::titanus::exploration::Thresholds)]
}
