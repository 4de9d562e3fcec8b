//! The text that schemes learn from.

use anyhow::{Context, Result, ensure};

use crate::decoder::Model;
use crate::kllm::language_model::Fisher;

/// Refuses windows that are none.
fn check(length: usize, step: usize, count: usize) -> Result<()> {
    ensure!(length > 1, "the length of a window is {length}, allowed: 2 tokens or more");
    ensure!(step > 0, "the stride is 0, allowed: 1 token or more");
    ensure!(count > 0, "the number of windows is 0, allowed: 1 or more");
    Ok(())
}

/// Tokens that train a codebook, about.
const SAMPLES: usize = 128;
/// Tokens of a text whose squared gradients are a sample of the Fisher information. Shorter texts are more samples.
const FISHER_TOKENS: usize = 128;

/// A text that schemes learn from, in windows that are read each on its own.
#[derive(Clone, Debug, Default)]
pub struct Learning {
    /// Tokens of each window.
    pub windows: Vec<Vec<u32>>,
}

impl Learning {
    /// The first `count` windows of `length` tokens, each `step` tokens after the one before.
    ///
    /// # Errors
    /// A window has fewer than two tokens, windows do not move on, or the text is too short for them.
    pub fn new(tokens: &[u32], length: usize, step: usize, count: usize) -> Result<Self> {
        check(length, step, count)?;
        let needed = (count - 1).checked_mul(step).and_then(|n| n.checked_add(length));
        let needed = needed.with_context(|| format!("{count} windows of {length} tokens, {step} apart"))?;
        ensure!(
            tokens.len() >= needed,
            "a text of {} tokens; {count} windows of {length}, each {step} after the one before, need {needed}",
            tokens.len()
        );
        Ok(Self { windows: tokens.windows(length).step_by(step).take(count).map(<[u32]>::to_vec).collect() })
    }

    /// Up to `count` windows of `length` tokens, each `step` tokens after the one before. A text of fewer tokens has
    /// fewer windows, and its only window may be shorter.
    ///
    /// # Errors
    /// There are fewer than two tokens, or windows do not move on.
    pub fn beginnings(tokens: &[u32], length: usize, step: usize, count: usize) -> Result<Self> {
        check(length, step, count)?;
        ensure!(tokens.len() > 1, "wanted is a text of 2 tokens or more, this one has {}", tokens.len());
        let starts = (0..tokens.len()).step_by(step).take(count);
        let starts = starts.filter(|&start| start == 0 || start + length <= tokens.len());
        Ok(Self { windows: starts.map(|start| tokens[start..].iter().copied().take(length).collect()).collect() })
    }

    /// Tokens of all windows.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.windows.iter().map(Vec::len).sum()
    }

    /// A name of all windows: it differs where a token does.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for window in &self.windows {
            hasher.update(&(window.len() as u64).to_le_bytes());
            window.iter().for_each(|token| {
                hasher.update(&token.to_le_bytes());
            });
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The Fisher information of a model on this text.
    ///
    /// # Errors
    /// The model has no gradients.
    pub fn fisher(&self, model: &Model) -> Result<Fisher> {
        let parts = |window: &Vec<u32>| window.chunks(FISHER_TOKENS).map(<[u32]>::to_vec).collect::<Vec<_>>();
        let texts: Vec<Vec<u32>> = self.windows.iter().flat_map(parts).filter(|t| t.len() > 1).collect();
        Fisher::of(model, &texts)
    }

    /// One token of so many becomes a sample for codebooks.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.tokens().div_ceil(SAMPLES).max(1)
    }
}
