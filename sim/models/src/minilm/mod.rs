//! all-MiniLM-L6-v2: an encoder with parts that SmolLM2 lacks: layer norm, GELU, biases, heads that all have keys of
//! their own.
//!
//! [`open`] finds the weights. [`Encoder`] computes vectors of sentences in floats. [`Exact`] is one layer with all
//! intermediate results, for comparison with an accelerator.

mod encoder;
pub mod layer;
mod word_piece;

use sim::Result;

pub use encoder::Encoder;
pub use layer::{Affine, Exact, Layer, Linear};
pub use word_piece::WordPiece;

use crate::fetched::Fetched;
use crate::safetensors::File;

const WEIGHTS: Fetched = Fetched {
    name: "all-MiniLM-L6-v2.safetensors",
    what: "the weights of all-MiniLM-L6-v2",
    blake3: "8087e9bf97c265f8435ed268733ecf3791825ad24850fd5d84d89e32ee3a589a",
};
const VOCABULARY: Fetched = Fetched {
    name: "all-MiniLM-L6-v2.vocab.txt",
    what: "the vocabulary of all-MiniLM-L6-v2",
    blake3: "29a772c92cf4b7bc8f4c52d801f03d36ad8528ef964f856dadc4c4e7cb14e451",
};

/// Opens weights and vocabulary after a check of their hashes.
///
/// # Errors
/// A file is missing or damaged; the message says how to fetch it.
pub fn open() -> Result<(File, WordPiece)> {
    let tensors = File::of_bytes(&WEIGHTS.path(), WEIGHTS.read()?)?;
    Ok((tensors, WordPiece::new(&VOCABULARY.path(), &VOCABULARY.read()?)?))
}
