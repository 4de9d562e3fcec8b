//! How well calibration on one half of the tokens fits the other half (the paper's Figure 2).

use anyhow::Result;
use golden::format::Format;
use golden::kllm::fp16;
use golden::kllm::outliers::{OutlierRule, per_side};

use super::{ActivationBook, Detection, Projection, Sensitivity};

/// Root mean square difference of the centroids that the two halves of the tokens give, in units of a token's scale.
///
/// # Errors
/// Parameters that the golden model refuses.
pub fn centroids(projection: &Projection, bits: u32, share: u32) -> Result<f64> {
    let [(first, second), _] = projection.folds();
    let train = |half| -> Result<Vec<f64>> {
        let tokens = &projection.tokens[half];
        let book = ActivationBook::train(projection, tokens, Sensitivity::Uniform, Detection::Online, bits, share)?;
        Ok(book.codebook.values().iter().map(|&v| fp16::value(v)).collect())
    };
    let (a, b) = (train(first)?, train(second)?);
    Ok((a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len() as f64).sqrt())
}

/// Root mean square over the tokens of (a token's own upper threshold / the calibrated one - 1). A token's own
/// threshold is its largest inlier under exact top-k.
///
/// # Errors
/// Parameters that the golden model refuses.
pub fn thresholds(projection: &Projection, share: u32) -> Result<f64> {
    let mut squares = 0.0;
    for (calibration, evaluation) in projection.folds() {
        let rule = OutlierRule::calibrate(&projection.tokens[calibration], share)?;
        let OutlierRule::Thresholds { high, .. } = rule else { continue };
        for token in &projection.tokens[evaluation] {
            let mut sorted = token.clone();
            sorted.sort_by(|&a, &b| Format::FP16.total_cmp(b, a));
            let own = sorted[per_side(token.len(), share)?];
            squares += (fp16::value(own) / fp16::value(high) - 1.0).powi(2);
        }
    }
    Ok((squares / projection.tokens.len() as f64).sqrt())
}
