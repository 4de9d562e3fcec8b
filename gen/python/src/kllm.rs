//! KLLM: K-Means indices, and outliers by Orizuru.

use golden::format::Format;
use golden::kllm::error::KllmError;
use golden::kllm::index_matmul::{Accumulator, Arithmetic};
use golden::kllm::kmeans::{self, Training};
use golden::kllm::orizuru::{NanPolicy, Tree, top_k as select};
use golden::kllm::outliers::{OutlierRule, per_side};
use golden::kllm::quantize::{Quantized, QuantizedWeights, samples, train_codebook};
use half::f16;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arrays::{bits as bits_of, elements, halves, has_columns, matrix, refused, rows};

/// KLLM: K-Means indices, and outliers by Orizuru (KLLM, sections III and IV).
#[pymodule]
pub mod kllm {
    #[pymodule_export]
    use super::codebook;
    #[pymodule_export]
    use super::product;
    #[pymodule_export]
    use super::round_trip;
    #[pymodule_export]
    use super::top_k;
}

/// The centroids of K-Means on numbers, ascending.
///
/// >>> kllm.codebook(np.array([0.0, 0.1, 0.9, 1.0]), bits=1)
/// array([0.05, 0.95])
///
/// Arguments:
///     points: numbers, float64 [n], finite
///     bits: bits of an index, 1 to 8
///     weights: a weight for each point, float64 [n]; 1 without it
///     seed: seed of the start
///
/// Returns float64 [2 ** bits].
#[pyfunction]
#[pyo3(signature = (points, bits = 4, weights = None, seed = 1))]
pub fn codebook<'py>(
    py: Python<'py>,
    points: &Bound<'_, PyAny>,
    bits: u32,
    weights: Option<Bound<'_, PyAny>>,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    in_range("bits", bits, 8)?;
    let points = elements("points", points)?;
    let weights = weights.map(|weights| elements("weights", &weights)).transpose()?;
    let training = Training { seed, ..Training::of_bits(bits) };
    let trained = py.detach(|| kmeans::train(&points, weights.as_deref(), training)).map_err(refused)?;
    Ok(trained.centroids.into_pyarray(py))
}

/// The places of the k largest and of the k smallest numbers, as Orizuru finds them, and its comparisons.
///
/// Order is that of all floating-point numbers (IEEE 754-2019, section 5.10). Of equal numbers the first one wins.
///
/// >>> kllm.top_k(np.array([1, 3, 2, 0], np.float16), 1)
/// (array([1]), array([3]), 6)
///
/// Arguments:
///     x: numbers, float16 [n]
///     k: how many on each side, 1 to n
///
/// Returns int64 [k] with the largest first, int64 [k] with the smallest first, and the number of comparisons.
#[pyfunction]
pub fn top_k<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    k: usize,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, u64)> {
    let values = bits_of(&elements::<f16>("x", x)?);
    if !(1..=values.len()).contains(&k) {
        return Err(refused(format!("k is {k}, allowed: 1 to {}", values.len())));
    }
    let (format, nan) = (Format::FP16, NanPolicy::TotalOrder);
    let found = select(&values, k, k, format, nan).map_err(refused)?;
    let mut tree = Tree::new(&values, format, nan).map_err(refused)?;
    for _ in 0..k {
        tree.pop_max();
        tree.pop_min();
    }
    let places = |side: Vec<golden::kllm::orizuru::Pop>| side.iter().map(|pop| pop.index as i64).collect::<Vec<_>>();
    Ok((places(found.max).into_pyarray(py), places(found.min).into_pyarray(py), tree.total_count()))
}

fn in_range(name: &str, value: u32, most: u32) -> PyResult<()> {
    if (1..=most).contains(&value) { Ok(()) } else { Err(refused(format!("{name} is {value}, allowed: 1 to {most}"))) }
}

/// Which numbers of a token of this width stay in fp16: a share of all.
fn rule(share: f64, width: usize) -> PyResult<OutlierRule> {
    if !(0.0..=1.0).contains(&share) {
        return Err(refused(format!("outliers is {share}, allowed: 0 to 1, as a share of a token")));
    }
    let per_side = per_side(width, (share * 10_000.0).round() as u32).map_err(refused)?;
    Ok(if per_side == 0 { OutlierRule::None } else { OutlierRule::TopK { per_side } })
}

fn tokens(name: &str, x: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<u64>>> {
    Ok(rows::<f16>(name, x)?.iter().map(|row| bits_of(row)).collect())
}

/// Tokens as indices and outliers, and back: what is left of them.
///
/// Each token has a scale. The codebook is trained on the tokens themselves.
///
/// Arguments:
///     x: tokens, float16 [tokens, channels], finite
///     bits: bits of an index, 1 to 8
///     outliers: share of a token that stays in fp16, 0 to 1; half of it are the largest numbers, half the smallest
///
/// Returns float16 [tokens, channels].
#[pyfunction]
#[pyo3(signature = (x, bits = 4, outliers = 0.01))]
pub fn round_trip<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    bits: u32,
    outliers: f64,
) -> PyResult<Bound<'py, PyArray2<f16>>> {
    in_range("bits", bits, 8)?;
    let x = tokens("x", x)?;
    let (channels, rule) = (x[0].len(), rule(outliers, x[0].len())?);
    let back: Result<Vec<Vec<f16>>, KllmError> = py.detach(|| {
        let codebook = train_codebook(bits, &samples(&x, rule, None)?, None)?;
        x.iter().map(|token| Ok(halves(&Quantized::new(token, &codebook, rule)?.dequantized_fp16()))).collect()
    });
    matrix(py, &back.map_err(refused)?, channels)
}

/// A product as KLLM computes it: counts of pairs of indices, weighted by products of centroids; outliers apart.
///
/// Arguments:
///     x: tokens, float16 [tokens, channels], finite
///     w: weights, float16 [channels, columns], finite
///     bits: bits of an index of x, 1 to 4
///     weight_bits: bits of an index of w, 1 to 4
///     outliers: share of a token that stays in fp16, 0 to 1
///
/// Returns float16 [tokens, columns]; sums are in fp32.
#[pyfunction]
#[pyo3(signature = (x, w, bits = 4, weight_bits = 4, outliers = 0.01))]
pub fn product<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    w: &Bound<'_, PyAny>,
    bits: u32,
    weight_bits: u32,
    outliers: f64,
) -> PyResult<Bound<'py, PyArray2<f16>>> {
    in_range("bits", bits, 4)?;
    in_range("weight_bits", weight_bits, 4)?;
    let (x, w) = (tokens("x", x)?, tokens("w", w)?);
    has_columns("x", x[0].len(), w.len())?;
    let (columns, rule) = (w[0].len(), rule(outliers, w.len())?);
    let product: Result<Vec<Vec<f16>>, KllmError> = py.detach(|| {
        let a = train_codebook(bits, &samples(&x, rule, None)?, None)?;
        let w: Vec<Vec<u64>> = (0..columns).map(|n| w.iter().map(|row| row[n]).collect()).collect();
        let book = train_codebook(weight_bits, &samples(&w, OutlierRule::None, None)?, None)?;
        let weights = QuantizedWeights::new(&w, &book)?;
        let arithmetic = Arithmetic::new(&a, &book, Accumulator::Fp32)?;
        x.iter().map(|token| Ok(halves(&arithmetic.matmul(&Quantized::new(token, &a, rule)?, &weights)?))).collect()
    });
    matrix(py, &product.map_err(refused)?, columns)
}
