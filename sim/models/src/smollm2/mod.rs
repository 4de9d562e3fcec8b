//! SmolLM2-135M: a whole language model that can run on the numbers of the accelerators.
//!
//! [`open`] finds the weights, and [`Model`] passes tokens through them. [`Arithmetic`] is floats, or the numbers that
//! a study puts in their place, product by product.

pub mod arithmetic;
pub mod calibration;
pub mod key_values;
pub mod matrix;
pub mod model;
pub mod perplexity;
pub mod residual;
pub mod texts;
pub mod tokenizer;
mod weights;

pub use arithmetic::{Arithmetic, Float};
pub use matrix::{Matrix, Weight};
pub use model::{Cache, Config, Model, Precision};
pub use tokenizer::Tokenizer;
pub use weights::{SHA256, open, path};
