//! Studies and models of systems: errors, bytes and counts of the papers' algorithms on real tensors.
//!
//! ```
//! use models::kllm::baselines::symmetric;
//!
//! // A row of activations in 4 bits, with one scale.
//! let row = [0.1, -0.4, 0.7, -0.05];
//! let found = symmetric(&row, 4);
//! assert!(row.iter().zip(&found).all(|(x, y)| (x - y).abs() <= 0.05 + 1e-9), "{found:?}");
//! ```
//!
//! A study computes with golden models and data. It neither builds nor runs hardware. A table that compares hardware
//! with a study comes from an example or a test in `testbenches`, which calls both.

pub mod baselines;
pub mod calibration;
pub mod cycles;
pub mod decoder;
pub mod evaluation;
pub mod explore;
mod fetched;
pub mod gguf;
pub mod headlines;
pub mod journal;
mod json;
pub mod kelle;
pub mod kllm;
pub mod minilm;
mod request;
pub mod safetensors;
pub mod schemes;
pub mod smollm2;
pub mod tender;
pub mod titanus;

pub use request::WrongRequest;
/// The model where nobody names another one.
pub use smollm2 as default_model;
