//! SmolLM2-135M: the model of the studies. [`open`] finds its weights, which [`crate::decoder`] reads; [`texts`] are what
//! it is measured on.

pub mod texts;
mod weights;

pub use weights::{SHA256, open, path};

/// The name of the model.
pub const NAME: &str = "SmolLM2-135M";
