//! How well a model predicts a text.

use anyhow::{Result, ensure};

use super::arithmetic::Arithmetic;
use super::model::Model;

/// Rows of logits at a time: each row is as long as the vocabulary.
const ROWS: usize = 64;

/// Surprise of each token except the first, in nats: `-ln p(token | all tokens before it)`.
///
/// # Errors
/// There are fewer than two tokens; or the errors of [`Model::forward`].
pub fn surprises(model: &Model, tokens: &[u32], arithmetic: &mut dyn Arithmetic) -> Result<Vec<f64>> {
    ensure!(tokens.len() > 1, "{} tokens; perplexity needs 2", tokens.len());
    let x = model.forward(tokens, &mut model.cache(), arithmetic)?;
    let mut surprises = Vec::new();
    for from in (0..tokens.len() - 1).step_by(ROWS) {
        let rows = from..(from + ROWS).min(tokens.len() - 1);
        let logits = model.logits(&x.some_rows(rows.clone()), arithmetic)?;
        surprises.extend(logits.iter().zip(&tokens[rows.start + 1..]).map(|(row, &next)| surprise(row, next)));
    }
    Ok(surprises)
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
}
