//! Clustering unit: a value becomes the index of the nearest centroid.
//!
//! KLLM sections III-A and IV-A. Centroids are sorted, so the nearest one is found from the midpoints between
//! neighbours: the index is the number of midpoints that are less than the value. A value on a midpoint belongs to the
//! lower centroid. Values are compared as in IEEE 754: -0 = +0, and a NaN is not greater than anything, so it gets
//! index 0. A token's scale is multiplied into the midpoints, and not divided out of each value:
//! [`Codebook::thresholds`](super::codebook::Codebook::thresholds) makes them.

use std::cmp::Ordering;

use crate::common::float::{Float, FloatFormat};

const FP16: Float = Float::ieee(FloatFormat::Fp16);

/// Index of the nearest centroid of fp16 `value`.
pub fn nearest(midpoints: &[u64], value: u64) -> u64 {
    midpoints.iter().filter(|&&m| FP16.compare(m, value) == Some(Ordering::Less)).count() as u64
}

/// Cycles from the first of `beats` beats of values, one a cycle, to the last beat of indices. A beat a cycle comes
/// out. The first beat comes out one cycle after it went in, or `bits` cycles with registers after each level of the
/// search.
pub fn cycles(bits: u64, pipelined: bool, beats: u64) -> u64 {
    beats + if pipelined { bits } else { 1 }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::super::codebook::{Codebook, cluster};
    use super::*;

    fn bits(x: f32) -> u64 {
        u64::from(f16::from_f32(x).to_bits())
    }

    #[test]
    fn worked_by_hand() {
        let codebook = Codebook::new(2, [-1.0, 0.0, 0.5, 2.0].map(bits).to_vec()).unwrap();
        let midpoints = codebook.thresholds(bits(2.0)).unwrap();
        assert_eq!(midpoints, [-1.0, 0.5, 2.5].map(bits));
        for (value, index) in
            [(-9.0, 0), (-1.0, 0), (-0.9, 1), (0.0, 1), (0.5, 1), (0.6, 2), (2.5, 2), (2.6, 3), (f32::INFINITY, 3)]
        {
            assert_eq!(nearest(&midpoints, bits(value)), index, "{value}");
        }
        assert_eq!(nearest(&midpoints, bits(f32::NAN)), 0);
        assert_eq!(nearest(&midpoints, 0xfe00), 0);
    }

    #[test]
    fn latency() {
        assert_eq!([1, 7].map(|beats| cycles(4, false, beats)), [2, 8]);
        assert_eq!([1, 7].map(|beats| cycles(4, true, beats)), [5, 11]);
        assert_eq!(cycles(1, true, 7), cycles(1, false, 7));
    }

    #[test]
    fn zeros_are_equal() {
        for (midpoint, value) in [(0x0000, 0x8000), (0x8000, 0x0000), (0x8000, 0x8000)] {
            assert_eq!(nearest(&[midpoint], value), 0);
        }
        assert_eq!(nearest(&[0x8000], 1), 1);
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// The same index as by distance to all centroids, and as by binary search, for any fp16 value.
        #[test]
        fn nearest_by_distance(
            centroids in prop::collection::btree_set(-2000..2000_i32, 8),
            scale in 1..2000_i32,
            value in any::<u16>().prop_filter("finite", |v| v & 0x7c00 != 0x7c00),
        ) {
            let centroids = centroids.iter().map(|&c| bits(c as f32 / 256.0)).collect();
            let codebook = Codebook::new(3, centroids).unwrap();
            let scale = bits(scale as f32 / 64.0);
            let midpoints = codebook.thresholds(scale).unwrap();
            let index = nearest(&midpoints, value.into());
            prop_assert_eq!(index, u64::from(codebook.nearest(value.into(), scale).unwrap()));
            prop_assert_eq!(index, u64::from(cluster(&midpoints, value.into())));
        }
    }
}
