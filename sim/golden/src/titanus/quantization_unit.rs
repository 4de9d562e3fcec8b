//! Quantization of a sequence, each token once: [`Sequence::encode`], cut into [`tiles`].

pub use super::cpq::{Config, Sequence};
pub use super::format::{Tile, tiles};
