//! How well a model predicts a text.
//!
//! ```
//! use models::decoder::perplexity::{Windows, perplexity};
//!
//! // A text of ten tokens for a model that reads six at once; each window begins four tokens after the one before.
//! let windows = Windows::new(6, 4)?.of(10)?;
//! let read: Vec<_> = windows.iter().map(|w| (w.tokens.clone(), w.scored)).collect();
//! assert_eq!(read, [(0..6, 5), (4..10, 4)]);
//! // Two tokens, of which the model gave one half and one eighth of all probability.
//! assert!((perplexity(&[2_f64.ln(), 8_f64.ln()]) - 4.0).abs() < 1e-12);
//! # Ok::<(), anyhow::Error>(())
//! ```

use std::ops::Range;

use anyhow::{Context, Result, ensure};

use super::arithmetic::Arithmetic;
use super::model::Model;

/// Rows of logits at a time: each row is as long as the vocabulary.
const ROWS: usize = 64;

/// How a text that is longer than the model's context is read: in windows that may overlap. The model reads each window
/// on its own. A token counts once: in the first window that has it and a token ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    length: usize,
    stride: usize,
}

/// A part of a text that is read on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its tokens.
    pub tokens: Range<usize>,
    /// Its last tokens, which count.
    pub scored: usize,
}

impl Windows {
    /// Windows of `length` tokens, each `stride` tokens after the one before. With a small stride most tokens have a
    /// long text ahead of them, and reading takes longer.
    ///
    /// # Errors
    /// A window has fewer than two tokens, or the stride is 0 or such that a token would have none ahead of it.
    pub fn new(length: usize, stride: usize) -> Result<Self> {
        ensure!(length > 1, "the length of a window is {length}; perplexity needs 2 tokens");
        ensure!((1..=length).contains(&stride), "the stride is {stride}, allowed: 1 to {length} tokens");
        Ok(Self { length, stride })
    }

    /// The windows of a text of `tokens` tokens, in order.
    ///
    /// # Errors
    /// There are fewer than two tokens.
    pub fn of(&self, tokens: usize) -> Result<Vec<Window>> {
        ensure!(tokens > 1, "perplexity needs a text of 2 tokens, this one has {tokens}");
        let (mut windows, mut counted) = (Vec::new(), 0);
        for from in (0..tokens).step_by(self.stride) {
            let to = (from + self.length).min(tokens);
            // The first token of a window has none ahead of it.
            let scored = (to - counted).min(to - from - 1);
            if scored > 0 {
                windows.push(Window { tokens: from..to, scored });
            }
            counted = to;
            if to == tokens {
                break;
            }
        }
        Ok(windows)
    }
}

impl Window {
    /// Surprise of each token that counts, in nats: `-ln p(token | the tokens of the window before it)`.
    ///
    /// # Errors
    /// The window is not in `text`; or the errors of [`Model::forward`].
    pub fn surprises(&self, model: &Model, text: &[u32], arithmetic: &mut dyn Arithmetic) -> Result<Vec<f64>> {
        let Range { start, end } = self.tokens;
        let tokens = text.get(self.tokens.clone());
        let tokens = tokens.with_context(|| format!("tokens {start} to {end} of a text of {}", text.len()))?;
        let (count, most) = (self.scored, tokens.len().saturating_sub(1));
        ensure!((1..=most).contains(&count), "{count} tokens of a window that count; allowed are 1 to {most}");
        let x = model.forward(tokens, &mut model.cache(), arithmetic)?;
        let mut surprises = Vec::new();
        for from in (most - count..most).step_by(ROWS) {
            let rows = from..(from + ROWS).min(most);
            let logits = model.logits(&x.some_rows(rows.clone()), arithmetic)?;
            surprises.extend(logits.iter().zip(&tokens[rows.start + 1..]).map(|(row, &next)| surprise(row, next)));
        }
        Ok(surprises)
    }
}

/// Surprise of each token except the first, in nats: `-ln p(token | all tokens before it)`.
///
/// # Errors
/// There are fewer than two tokens; or the errors of [`Model::forward`].
pub fn surprises(model: &Model, tokens: &[u32], arithmetic: &mut dyn Arithmetic) -> Result<Vec<f64>> {
    ensure!(tokens.len() > 1, "perplexity needs a text of 2 tokens, this one has {}", tokens.len());
    Window { tokens: 0..tokens.len(), scored: tokens.len() - 1 }.surprises(model, tokens, arithmetic)
}

/// `exp` of the mean surprise.
#[must_use]
pub fn perplexity(surprises: &[f64]) -> f64 {
    (surprises.iter().sum::<f64>() / surprises.len() as f64).exp()
}

/// Surprise of the next token, in nats: `-ln p(token)` by softmax of the logits of all tokens.
#[must_use]
pub fn surprise(logits: &[f64], token: u32) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + logits.iter().map(|x| (x - top).exp()).sum::<f64>().ln() - logits[token as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Four equal ones, however large: a quarter each.
        assert!((surprise(&[1e4; 4], 2) - 4_f64.ln()).abs() < 1e-9);
        // Odds of 3 to 1.
        assert!((surprise(&[3_f64.ln(), 0.0], 1) - 4_f64.ln()).abs() < 1e-12);
        assert!((perplexity(&[2_f64.ln(), 8_f64.ln()]) - 4.0).abs() < 1e-12);
    }

    /// Every token counts once, except the first of the text and, without overlap, the first of each window.
    #[test]
    fn every_token_counts_once() {
        for length in 2..9 {
            for stride in 1..=length {
                for tokens in 2..30 {
                    let windows = Windows::new(length, stride).unwrap().of(tokens).unwrap();
                    let mut counted = vec![0; tokens];
                    for Window { tokens, scored } in &windows {
                        assert!(tokens.len() <= length && (1..tokens.len()).contains(scored));
                        (tokens.end - scored..tokens.end).for_each(|at| counted[at] += 1);
                    }
                    let first = |at: usize| if stride == length { at.is_multiple_of(length) } else { at == 0 };
                    let wanted: Vec<i32> = (0..tokens).map(|at| i32::from(!first(at))).collect();
                    assert_eq!(counted, wanted, "{tokens} tokens in windows of {length}, stride {stride}");
                }
            }
        }
        let refused = |length, stride| Windows::new(length, stride).unwrap_err().to_string();
        assert!(refused(1, 1).contains("the length of a window is 1; perplexity"));
        assert!(refused(4, 0).contains("the stride is 0, allowed: 1 to 4"));
        assert!(refused(4, 5).contains("allowed: 1 to 4"));
        assert!(Windows::new(4, 4).unwrap().of(1).unwrap_err().to_string().contains("this one has 1"));
    }
}
