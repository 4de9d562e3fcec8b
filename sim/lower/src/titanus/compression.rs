//! How keys and values are kept, and how the tokens of a prompt come.

use host::titanus::Opening;

/// How keys and values are kept.
#[derive(Clone, Copy, Debug)]
pub struct Compression {
    /// Least share of the prompt's keys, and of its values, that pruning sets to 0. Thresholds are the smallest ones
    /// that reach it.
    pub sparsity: f64,
    /// Bits of quantized keys and values.
    pub bits: [u8; 2],
}

impl Compression {
    /// What begins a cache whose first `prefill` tokens give the levels. Thresholds are of keys and of values.
    #[must_use]
    pub fn opening(self, prefill: u16, [key_threshold, value_threshold]: [u8; 2]) -> Opening {
        let [key_bits, value_bits] = self.bits;
        Opening { prefill, key_threshold, value_threshold, key_bits, value_bits }
    }
}

/// How a prompt comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// All tokens as one job, with the thresholds that [`Compression::sparsity`] finds.
    AtOnce,
    /// All tokens as one job, with these thresholds of keys and of values.
    With([u8; 2]),
    /// A job for each token, with these thresholds of keys and of values.
    ByToken([u8; 2]),
}

/// Tokens whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Number of their text.
    pub text: usize,
    /// Tokens of the text before them.
    pub first: usize,
}

/// Thresholds of a new cache, and the share of keys and values that they prune.
pub type Begun = ([u8; 2], f64);
