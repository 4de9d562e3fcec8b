//! SmolLM2-135M: a whole language model, to run on numbers as the accelerators have them.

mod weights;

pub use weights::{SHA256, open, path};
