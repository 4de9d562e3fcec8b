//! Attention scores times values: integer x K-Means (section III-B2), on the traces of the model.
//!
//! Each token of values has a scale, and the sum runs over the tokens, so the scale cannot be pulled out of the sum. It
//! is multiplied into the scores before they are quantized.

use anyhow::{Result, ensure};
use golden::kllm::fp16;
use golden::kllm::index_matmul::{Integers, exact};
use golden::kllm::outliers::OutlierRule;
use golden::kllm::quantize::{Quantized, QuantizedWeights, samples, train_codebook};
use sim::stimulus::real_rows;

use super::{dot, values};

/// Tokens for the calibration of values and scores. The queries after them are judged.
const CALIBRATION: usize = 128;
/// Distance between the queries that are judged.
const STEP: usize = 16;
/// Query heads in a trace.
const HEADS: usize = 3;

/// How the scores are represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// In fp16.
    Fp16,
    /// Unsigned integers of so many bits.
    Integer(u32),
    /// K-Means indices of so many bits.
    KMeans(u32),
}

/// Relative error (Frobenius) of the attention's result for each representation of the scores, with 4-bit K-Means
/// values.
///
/// # Errors
/// A file is missing, counting and multiplying differ in an output, or the golden model refuses operands.
pub fn errors(layer: u32, kinds: &[Scores]) -> Result<Vec<f64>> {
    let read = |name: &str| real_rows(&format!("l{layer:02}_{name}_trace"));
    let (queries, keys, raw) = (values(&read("q")?), values(&read("k")?), read("v")?);
    let length = keys.len();
    let (exact_v, dims) = (values(&raw), raw[0].len());
    let v_book = train_codebook(4, &samples(&raw[..CALIBRATION], OutlierRule::None, None)?, None)?;
    let v = raw.iter().map(|row| Quantized::new(row, &v_book, OutlierRule::None)).collect::<Result<Vec<_>, _>>()?;

    let softmax = |head: usize, query: usize| -> Vec<f64> {
        let q = &queries[head * length + query];
        let logits: Vec<f64> = keys[..=query].iter().map(|k| dot(q, k) / (dims as f64).sqrt()).collect();
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = logits.iter().map(|l| (l - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.iter().map(|p| p / sum).collect()
    };
    // Scores with the scales of the values folded in, fp16.
    let folded =
        |p: &[f64]| -> Vec<u64> { p.iter().zip(&v).map(|(p, v)| fp16::from_f64(p * fp16::value(v.scale))).collect() };

    let calibration: Vec<Vec<u64>> = (0..HEADS)
        .flat_map(|head| (CALIBRATION / 2..CALIBRATION).step_by(STEP / 4).map(move |query| (head, query)))
        .map(|(head, query)| folded(&softmax(head, query)))
        .collect();
    let (mut error, mut size) = (vec![0.0; kinds.len()], 0.0);
    for (kind, error) in kinds.iter().zip(&mut error) {
        let book = match kind {
            Scores::KMeans(bits) => {
                Some(train_codebook(*bits, &samples(&calibration, OutlierRule::None, None)?, None)?)
            }
            _ => None,
        };
        size = 0.0;
        for (head, query) in (0..HEADS).flat_map(|h| (CALIBRATION..length).step_by(STEP).map(move |q| (h, q))) {
            let p = softmax(head, query);
            let scores = folded(&p);
            let columns = (0..dims).map(|n| v[..=query].iter().map(|row| row.indices[n]).collect()).collect();
            let w = QuantizedWeights { codebook: v_book.clone(), scales: vec![fp16::ONE; dims], columns };
            let integers = match kind {
                Scores::Integer(bits) => Some(Integers::new(&scores, *bits)?),
                _ => None,
            };
            let indices = book.as_ref().map(|b| Quantized::new(&scores, b, OutlierRule::None)).transpose()?;
            for n in 0..dims {
                let y = if let Some(integers) = &integers {
                    let units = integers.exact_by_counts(&w, n)?;
                    ensure!(units == integers.exact_by_elements(&w, n)?, "counting integers differs at {n}");
                    units as f64 / 2f64.powi(72)
                } else if let Some(indices) = &indices {
                    exact::by_counts(indices, &w, n)? as f64 / 2f64.powi(96)
                } else {
                    let centroid = |i: u16| fp16::value(v_book.value(i));
                    scores.iter().zip(&w.columns[n]).map(|(&s, &i)| fp16::value(s) * centroid(i)).sum()
                };
                let expected: f64 = p.iter().zip(&exact_v).map(|(p, v)| p * v[n]).sum();
                *error += (y - expected).powi(2);
                size += expected * expected;
            }
        }
    }
    Ok(error.into_iter().map(|e| (e / size).sqrt()).collect())
}
