//! Search for the settings that are best in several objectives.
//!
//! A setting is a list of integers, each from 0 to a limit of its own. Its worth is a number for each objective; less is
//! better. Everything is a function of the seed. So an interrupted search goes on, if worths that were computed are kept.

pub use point::{Evaluate, Genes, Objectives, Point};

pub mod front;
pub mod narrowing;
pub mod nsga2;
mod point;
