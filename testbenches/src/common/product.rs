//! The product of a user's matrices on an array, whose tiles are as large as the array.

use sim::kit::tensors::{Extent, Numbers, Tensors, Wanted, signed};

/// The tensors of a product: signed activations and weights of so many bits.
#[must_use]
pub fn wanted(act_bits: u32, weight_bits: u32) -> Vec<Wanted> {
    let channels = Extent::Named("channels");
    let of = |name, meaning, bits, shape| Wanted { name, meaning, numbers: Numbers::Integers(signed(bits)), shape };
    vec![
        of("act", "activations, a row for each token", act_bits, vec![Extent::Any, channels]),
        of("weight", "weights, a row for each channel", weight_bits, vec![channels, Extent::Any]),
    ]
}

/// Activations [token, channel] and weights [channel, output].
#[derive(Clone, Debug)]
pub struct Matrices {
    /// Activations.
    pub act: Vec<Vec<i64>>,
    /// Weights.
    pub weight: Vec<Vec<i64>>,
}

impl Matrices {
    /// The matrices that [`wanted`] tensors hold.
    #[must_use]
    pub fn given(tensors: &Tensors) -> Self {
        Self { act: tensors.integers("act"), weight: tensors.integers("weight") }
    }

    /// Outputs of the product.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.weight.first().map_or(0, Vec::len)
    }

    /// The tiles of up to `tokens` rows and exactly `outputs` columns, from left to right and top to bottom. Missing
    /// columns are zeros.
    #[must_use]
    pub fn tiles(&self, tokens: usize, outputs: usize) -> Vec<Self> {
        let columns = |first: usize| -> Vec<Vec<i64>> {
            let of = |row: &Vec<i64>| (first..first + outputs).map(|c| row.get(c).copied().unwrap_or(0)).collect();
            self.weight.iter().map(of).collect()
        };
        let row = |act: &[Vec<i64>]| -> Vec<Self> {
            let firsts = (0..self.outputs()).step_by(outputs);
            firsts.map(|first| Self { act: act.to_vec(), weight: columns(first) }).collect()
        };
        self.act.chunks(tokens).flat_map(row).collect()
    }

    /// The exact product modulo 2^`bits`, read as two's complement.
    #[must_use]
    pub fn wrapped(&self, bits: u32) -> Vec<Vec<i128>> {
        let sum = |row: &[i64], output: usize| -> i128 {
            row.iter().zip(&self.weight).map(|(&x, weights)| i128::from(x) * i128::from(weights[output])).sum()
        };
        let of = |row: &Vec<i64>| (0..self.outputs()).map(|output| wrapped(sum(row, output), bits)).collect();
        self.act.iter().map(of).collect()
    }
}

/// A number modulo 2^`bits`, for less than 127 bits, read as two's complement.
#[must_use]
pub fn wrapped(number: i128, bits: u32) -> i128 {
    let half = 1i128 << (bits - 1);
    (number + half).rem_euclid(2 * half) - half
}
