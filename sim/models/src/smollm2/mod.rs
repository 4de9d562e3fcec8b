//! SmolLM2-135M: a whole language model, to run on numbers as the accelerators have them.
//!
//! [`open`] finds the weights, [`Model`] passes tokens through them, and [`Arithmetic`] is what it computes with: floats,
//! or whatever a study puts in their place, product by product.

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
