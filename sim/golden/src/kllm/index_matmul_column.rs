//! One output of an index-based MatMul: count the products, sum the distribution, scale.
//!
//! KLLM section III-B. The dense part of y is a sum of products over the inliers. Outlier positions are absent here and
//! come in by the sparse path. Scaling is two fp16 multiplications: y = fp16(fp16(s_a * s_w) * fp16(sum)).
//!
//! This is the dense part of [`index_matmul`](super::index_matmul) for one column, from the inputs of the hardware. The
//! two were written separately, and the tests compare them.

use super::concat_unit::product_index;
use super::fp16_mac::Fp16Mac;
use super::index_distribution_counter::{Mode, Shape};
use super::weighted_sum::{is_infinite, weighted_sum};
use crate::common::float::{Float, FloatFormat};
use crate::format::FormatError;

/// One position of the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Index of the activation.
    pub a: u64,
    /// Index of the weight; in integer mode the integer.
    pub w: u64,
    /// Whether the position belongs to the column.
    pub present: bool,
    /// Whether the activation is an outlier.
    pub outlier: bool,
}

/// The work of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// All positions in order.
    pub pairs: Vec<Pair>,
    /// The operand that is multiplied with the activations.
    pub mode: Mode,
    /// Whether activations have one bit less than the hardware supports.
    pub half: bool,
    /// fp16 scale of the weights, one an output channel.
    pub scale_w: u64,
    /// fp16 scale of the activations, one a token.
    pub scale_a: u64,
}

/// The datapath.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexMatmulColumn {
    /// Widths of the indices.
    pub shape: Shape,
    /// The rounding of sums.
    pub mac: Fp16Mac,
}

impl IndexMatmulColumn {
    /// The fp16 output of a column; `codebook` has an fp16 value for each bin.
    ///
    /// # Errors
    /// An index is too wide.
    pub fn y(self, column: &Column, codebook: &[u64]) -> Result<u64, FormatError> {
        let counts = self.counts(column)?;
        let sum = weighted_sum(self.mac, &counts, codebook);
        let float = Float { format: FloatFormat::Fp16, subnormals: self.mac.subnormals };
        let scale = float.mul(column.scale_a, column.scale_w).bits;
        Ok(float.mul(scale, self.mac.narrow(sum)).bits)
    }

    /// Whether hardware for `k` pairs a column reports that its y is wrong: there are more pairs, or a count is
    /// infinite in fp16. If a count is infinite, y is the infinity or NaN from [`IndexMatmulColumn::y`].
    ///
    /// # Errors
    /// An index is too wide.
    pub fn is_wrong(self, column: &Column, k: u64) -> Result<bool, FormatError> {
        let pairs = column.pairs.iter().filter(|p| p.present && !p.outlier).count() as u64;
        Ok(pairs > k || self.counts(column)?.into_iter().any(is_infinite))
    }

    fn counts(self, column: &Column) -> Result<Vec<u64>, FormatError> {
        let index = |p: &Pair| (p.present && !p.outlier).then(|| product_index(p.a, p.w, self.shape.b_bits));
        self.shape.distribution(column.mode, column.half, column.pairs.iter().map(index))
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::super::codebook::Codebook;
    use super::super::index_matmul::{Accumulator, Arithmetic};
    use super::super::orizuru::Pop;
    use super::super::quantize::{Quantized, QuantizedWeights};
    use super::*;
    use crate::common::float::Subnormals;

    fn bits(x: f32) -> u64 {
        u64::from(f16::from_f32(x).to_bits())
    }

    const SMALL: IndexMatmulColumn = IndexMatmulColumn { shape: Shape { a_bits: 1, b_bits: 2 }, mac: Fp16Mac::PAPER };

    fn products(a: &[u64; 2], w: &[u64; 4]) -> Vec<u64> {
        let (a, w) = (Codebook::new(1, a.to_vec()).unwrap(), Codebook::new(2, w.to_vec()).unwrap());
        a.product(&w).unwrap().values().to_vec()
    }

    fn pair(a: u64, w: u64) -> Pair {
        Pair { a, w, present: true, outlier: false }
    }

    #[test]
    fn worked_by_hand() {
        let (a, w) = ([-1.0, 2.0].map(bits), [-2.0, -0.5, 0.5, 1.0].map(bits));
        let codebook = products(&a, &w);
        assert_eq!(codebook, [2.0, 0.5, -0.5, -1.0, -4.0, -1.0, 1.0, 2.0].map(bits));
        let mut column = Column {
            pairs: vec![pair(0, 0), pair(1, 3), pair(1, 0), pair(0, 2)],
            mode: Mode::KMeans,
            half: false,
            scale_w: bits(0.5),
            scale_a: bits(4.0),
        };
        // (2 + 2 - 4 - 0.5) * 0.5 * 4
        assert_eq!(SMALL.y(&column, &codebook).unwrap(), bits(-1.0));
        // The outlier leaves the dense sum: (2 + 2 - 0.5) * 2
        column.pairs[2].outlier = true;
        assert_eq!(SMALL.y(&column, &codebook).unwrap(), bits(7.0));
        // Integers 0, 3 and 2: -1 * (0 + 2) + 2 * 3
        column.mode = Mode::Integer;
        assert_eq!(SMALL.y(&column, &a).unwrap(), bits(8.0));
        // An empty sum is +0, not -0.
        column.pairs.clear();
        for (mode, codebook) in [(Mode::Integer, &a.to_vec()), (Mode::KMeans, &codebook)] {
            column.mode = mode;
            assert_eq!(SMALL.y(&column, codebook).unwrap(), 0);
        }
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// If centroids and scales are powers of two, nothing rounds, and y is the product of the dequantized vectors.
        #[test]
        fn equals_the_dequantized_product(pairs in prop::collection::vec((0..2_u64, 0..4_u64, any::<bool>()), 0..40)) {
            let (a, w) = ([-1.0_f32, 2.0], [-2.0_f32, -0.5, 0.5, 1.0]);
            let codebook = products(&a.map(bits), &w.map(bits));
            let column = Column {
                pairs: pairs.iter().map(|&(a, w, outlier)| Pair { outlier, ..pair(a, w) }).collect(),
                mode: Mode::KMeans,
                half: false,
                scale_w: bits(0.25),
                scale_a: bits(2.0),
            };
            let inliers = pairs.iter().filter(|p| !p.2);
            // From +0; Rust's own sum starts from -0.
            let exact = inliers.fold(0.0, |sum, &(i, j, _)| sum + a[i as usize] * w[j as usize] * 0.5);
            prop_assert_eq!(SMALL.y(&column, &codebook).unwrap(), bits(exact));
        }

        /// The same bits as the algorithm's dense part, for each kind of accumulation.
        #[test]
        fn agrees_with_the_algorithm(
            pairs in prop::collection::vec((0..8_u16, 0..4_u16, prop::bool::weighted(0.1)), 1..300),
            a in prop::collection::vec(-2000..2000_i32, 8),
            w in prop::collection::vec(-2000..2000_i32, 4),
            scales in (1..4000_i32, 1..4000_i32),
        ) {
            let codebook = |bits_of: u32, values: &[i32], unit: f32| {
                Codebook::new(bits_of, values.iter().map(|&v| bits(v as f32 * unit)).collect()).unwrap()
            };
            let (a, w) = (codebook(3, &a, 1.0 / 1000.0), codebook(2, &w, 1.0 / 3000.0));
            let [scale_a, scale_w] = [scales.0, scales.1].map(|s| bits(s as f32 / 1500.0));
            let outliers = (0..).zip(&pairs).filter(|(_, p)| p.2).map(|(index, _)| Pop { index, value: 0 }).collect();
            let token = Quantized {
                codebook: a.clone(),
                scale: scale_a,
                indices: pairs.iter().map(|p| p.0).collect(),
                outliers,
            };
            let weights = QuantizedWeights {
                codebook: w.clone(),
                scales: vec![scale_w],
                columns: vec![pairs.iter().map(|p| p.1).collect()],
            };
            let column = Column {
                pairs: pairs
                    .iter()
                    .map(|p| Pair { a: p.0.into(), w: p.1.into(), present: true, outlier: p.2 })
                    .collect(),
                mode: Mode::KMeans,
                half: false,
                scale_w,
                scale_a,
            };
            let shape = Shape { a_bits: 3, b_bits: 2 };
            for (accumulator, accumulate, fused) in [
                (Accumulator::Fp16Fused, FloatFormat::Fp16, true),
                (Accumulator::Fp16, FloatFormat::Fp16, false),
                (Accumulator::Fp32, FloatFormat::Fp32, true),
            ] {
                let mac = Fp16Mac { accumulate, fused, subnormals: Subnormals::Ieee };
                let arithmetic = Arithmetic::new(&a, &w, accumulator).unwrap();
                let y = IndexMatmulColumn { shape, mac }.y(&column, arithmetic.products.values()).unwrap();
                prop_assert_eq!(y, arithmetic.output(&token, &weights, 0).unwrap().dense);
            }
        }
    }
}
