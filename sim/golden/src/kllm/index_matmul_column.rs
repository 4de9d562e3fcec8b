//! One output of an index-based MatMul: count the products, sum the distribution, scale.
//!
//! KLLM section III-B. The dense part of y = sum of products over the inliers; outlier positions are absent here and
//! come in by the sparse path. The scales are multiplied into the sum one after the other, in the format of the
//! accumulator, the weight's first: y = fp16((sum * s_w) * s_a).

use super::concat_unit::product_index;
use super::fp16_mac::Fp16Mac;
use super::index_distribution_counter::{Mode, Shape};
use super::weighted_sum::weighted_sum;
use crate::common::float::{Float, FloatFormat, Subnormals};
use crate::format::FormatError;

/// One position of the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Index of the activation.
    pub a: u64,
    /// Index of the weight; in integer mode the integer.
    pub w: u64,
    /// The position belongs to the column.
    pub present: bool,
    /// The activation is an outlier.
    pub outlier: bool,
}

/// One column's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// All positions in order.
    pub pairs: Vec<Pair>,
    /// What the activations are multiplied with.
    pub mode: Mode,
    /// Activations have one bit less than the hardware could take.
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
    /// How sums round.
    pub mac: Fp16Mac,
}

impl IndexMatmulColumn {
    /// The fp16 output of a column; `codebook` has an fp16 value for each bin.
    ///
    /// # Errors
    /// An index that is too wide.
    pub fn y(self, column: &Column, codebook: &[u64]) -> Result<u64, FormatError> {
        let index = |p: &Pair| (p.present && !p.outlier).then(|| product_index(p.a, p.w, self.shape.b_bits));
        let counts = self.shape.distribution(column.mode, column.half, column.pairs.iter().map(index))?;
        let sum = weighted_sum(self.mac, &counts, codebook);
        let float = self.mac.float();
        let by_weight = float.mul(sum, self.mac.widen(column.scale_w)).bits;
        Ok(self.mac.narrow(float.mul(by_weight, self.mac.widen(column.scale_a)).bits))
    }
}

/// The product codebook: fp16 products of each activation centroid with each weight centroid, in the order of the
/// concatenated index. Made offline.
pub fn product_codebook(a: &[u64], w: &[u64], subnormals: Subnormals) -> Vec<u64> {
    let float = Float { format: FloatFormat::Fp16, subnormals };
    a.iter().flat_map(|&a| w.iter().map(move |&w| float.mul(a, w).bits)).collect()
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::*;

    fn bits(x: f32) -> u64 {
        u64::from(f16::from_f32(x).to_bits())
    }

    const SMALL: IndexMatmulColumn = IndexMatmulColumn { shape: Shape { a_bits: 1, b_bits: 2 }, mac: Fp16Mac::PAPER };

    fn pair(a: u64, w: u64) -> Pair {
        Pair { a, w, present: true, outlier: false }
    }

    #[test]
    fn worked_by_hand() {
        let (a, w) = ([-1.0, 2.0].map(bits), [-2.0, -0.5, 0.5, 1.0].map(bits));
        let codebook = product_codebook(&a, &w, Subnormals::Ieee);
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
    }

    proptest! {
        /// With centroids and scales that are powers of two nothing rounds, and y is the product of the dequantised
        /// vectors.
        #[test]
        fn equals_the_dequantised_product(pairs in prop::collection::vec((0..2_u64, 0..4_u64, any::<bool>()), 0..40)) {
            let (a, w) = ([-1.0_f32, 2.0], [-2.0_f32, -0.5, 0.5, 1.0]);
            let codebook = product_codebook(&a.map(bits), &w.map(bits), Subnormals::Ieee);
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
    }
}
