//! A setting and its worth.

/// A setting.
pub type Genes = Vec<u32>;

/// The worth of a setting: a number for each objective; less is better. NaN is worse than any number.
pub type Objectives = Vec<f64>;

/// A setting and its worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The setting.
    pub genes: Genes,
    /// Its worth.
    pub objectives: Objectives,
}

/// A function that computes the worth of several settings.
pub type Evaluate<'a> = dyn FnMut(&[Genes]) -> anyhow::Result<Vec<Objectives>> + 'a;
