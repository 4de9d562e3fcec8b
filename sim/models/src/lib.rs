//! Studies and models of systems: what the papers' algorithms do to real tensors, in errors, bytes and counts.
//!
//! ```
//! use models::kllm::baselines::symmetric;
//!
//! // What a row of activations becomes in 4 bits with one scale.
//! let row = [0.1, -0.4, 0.7, -0.05];
//! let found = symmetric(&row, 4);
//! assert!(row.iter().zip(&found).all(|(x, y)| (x - y).abs() <= 0.05 + 1e-9), "{found:?}");
//! ```
//!
//! A study computes with golden models and data; it builds no hardware and runs none. Where a table sets figures of the
//! hardware beside those of a study, the bench is in `testbenches`, and its example or test calls both.

pub mod cycles;
pub mod explore;
mod fetched;
pub mod gguf;
pub mod headlines;
pub mod kelle;
pub mod kllm;
pub mod minilm;
pub mod smollm2;
pub mod tender;
pub mod titanus;
