//! Search among settings for those that are best in two ways at once.
//!
//! A setting is a list of integers, each from 0 to a limit of its own; what it is worth are two numbers of which less is better.
//! Everything is a function of the seed, so a search that was broken off goes on where it stopped when what was computed is kept
//! ([`store`]).

pub mod front;
pub mod nsga2;
pub mod store;

/// A setting.
pub type Genes = Vec<u32>;

/// What a setting is worth: less is better, both ways. A NaN is worse than anything.
pub type Objectives = [f64; 2];

/// A setting, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The setting.
    pub genes: Genes,
    /// What it is worth.
    pub objectives: Objectives,
}

/// What computes the worth of settings, several at a time.
pub type Evaluate<'a> = dyn FnMut(&[Genes]) -> anyhow::Result<Vec<Objectives>> + 'a;
