//! The real model's tensors, quantized.

use golden::kllm::codebook::Codebook;
use golden::kllm::index_distribution_counter::Mode;
use golden::kllm::index_matmul::{Accumulator, Arithmetic};
use golden::kllm::index_matmul_column::{Column, Pair};
use golden::kllm::outliers::OutlierRule;
use golden::kllm::quantize::{Quantized, QuantizedWeights};
use sim::stimulus::real_rows;

/// The real model's activations and weights, quantized: pairs, codebook and expected values all come from the algorithm.
pub struct Real {
    pub tokens: Vec<Quantized>,
    pub weights: QuantizedWeights,
    pub raw: Vec<Vec<u64>>,
    pub arithmetic: Arithmetic,
}

/// A codebook spread like the values themselves: quantiles. (How codebooks are trained does not matter here.)
fn codebook(bits: u32, mut values: Vec<f64>) -> Codebook {
    values.sort_by(f64::total_cmp);
    let n = 1 << bits;
    let centroids: Vec<f64> = (0..n).map(|i| values[(2 * i + 1) * values.len() / (2 * n)]).collect();
    Codebook::from_centroids(bits, &centroids).unwrap_or_else(|e| panic!("{e}"))
}

fn normalised(rows: &[Vec<u64>]) -> Vec<f64> {
    let value = |&bits: &u64| f64::from(half::f16::from_bits(bits as u16));
    let row = |row: &Vec<u64>| {
        let values: Vec<f64> = row.iter().map(value).collect();
        let largest = values.iter().fold(f64::MIN_POSITIVE, |m, v| v.abs().max(m));
        values.into_iter().map(move |v| v / largest)
    };
    rows.iter().flat_map(row).collect()
}

impl Real {
    /// Tokens of `input` times channels of `weight`, with activations of `a_bits` bits.
    pub fn new(input: &str, weight: &str, a_bits: u32, accumulator: Accumulator) -> Self {
        let rows = |name| real_rows(name).unwrap_or_else(|e| panic!("{e}"));
        let raw: Vec<_> = rows(input).into_iter().step_by(9).take(4).collect();
        let weight = rows(weight);
        let columns: Vec<Vec<u64>> = (0..6).map(|n| weight.iter().map(|row| row[10 * n]).collect()).collect();
        let (a, w) = (codebook(a_bits, normalised(&raw)), codebook(4, normalised(&columns)));
        let rule = OutlierRule::TopK { per_side: 8 };
        let tokens = raw.iter().map(|row| Quantized::new(row, &a, rule).unwrap_or_else(|e| panic!("{e}"))).collect();
        let weights = QuantizedWeights::new(&columns, &w).unwrap_or_else(|e| panic!("{e}"));
        let arithmetic = Arithmetic::new(&a, &w, accumulator).unwrap_or_else(|e| panic!("{e}"));
        Self { tokens, weights, raw, arithmetic }
    }

    /// Every channel for every token, and the algorithm's results.
    pub fn columns(&self) -> (Vec<Column>, Vec<u64>) {
        let mut columns = (vec![], vec![]);
        for token in &self.tokens {
            for n in 0..self.weights.columns.len() {
                let mask = token.outlier_mask();
                let pair = |k: usize| Pair {
                    a: token.indices[k].into(),
                    w: self.weights.columns[n][k].into(),
                    present: true,
                    outlier: mask[k],
                };
                columns.0.push(Column {
                    pairs: (0..mask.len()).map(pair).collect(),
                    mode: Mode::KMeans,
                    half: false,
                    scale_w: self.weights.scales[n],
                    scale_a: token.scale,
                });
                let output = self.arithmetic.output(token, &self.weights, n).unwrap_or_else(|e| panic!("{e}"));
                columns.1.push(output.dense);
            }
        }
        columns
    }
}
