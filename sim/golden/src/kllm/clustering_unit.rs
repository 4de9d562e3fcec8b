//! Clustering unit: a value becomes the index of the nearest centroid.
//!
//! KLLM sections III-A and IV-A. Centroids are sorted, so the nearest one is found among the midpoints between
//! neighbours: the index is the number of midpoints that are less than the value. A value on a midpoint belongs to the
//! lower centroid. Values are compared as IEEE 754 does: -0 = +0, and a NaN is not greater than anything, so it becomes
//! index 0. A token's scale is multiplied into the midpoints instead of divided out of each value.

use std::cmp::Ordering;

use crate::common::float::{Float, FloatFormat, Subnormals};

const FP16: Float = Float::ieee(FloatFormat::Fp16);

/// Index of the nearest centroid of fp16 `value`.
pub fn nearest(midpoints: &[u64], value: u64) -> u64 {
    midpoints.iter().filter(|&&m| FP16.compare(m, value) == Some(Ordering::Less)).count() as u64
}

/// Midpoints of sorted centroids, each multiplied by the scale: fp16((fp16(c + c') / 2) * scale). The halving is exact but
/// for subnormal sums.
pub fn scaled_midpoints(centroids: &[u64], scale: u64, subnormals: Subnormals) -> Vec<u64> {
    let float = Float { format: FloatFormat::Fp16, subnormals };
    let half = u64::from(half::f16::from_f32_const(0.5).to_bits());
    let midpoint = |pair: &[u64]| float.mul(float.add(pair[0], pair[1]).bits, half).bits;
    centroids.windows(2).map(|pair| float.mul(midpoint(pair), scale).bits).collect()
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::*;

    fn bits(x: f32) -> u64 {
        u64::from(f16::from_f32(x).to_bits())
    }

    #[test]
    fn worked_by_hand() {
        let midpoints = scaled_midpoints(&[-1.0, 0.0, 0.5, 2.0].map(bits), bits(2.0), Subnormals::Ieee);
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
    fn zeros_are_equal() {
        for (midpoint, value) in [(0x0000, 0x8000), (0x8000, 0x0000), (0x8000, 0x8000)] {
            assert_eq!(nearest(&[midpoint], value), 0);
        }
        assert_eq!(nearest(&[0x8000], 1), 1);
    }

    proptest! {
        /// Integers and their halves are exact in fp16: the nearest by distance, the lower one of two.
        #[test]
        fn nearest_by_distance(mut centroids in prop::collection::btree_set(-200..200_i32, 2..16), value in -500..500_i32) {
            let sorted: Vec<i32> = std::mem::take(&mut centroids).into_iter().collect();
            let raw: Vec<u64> = sorted.iter().map(|&c| bits(c as f32)).collect();
            let midpoints = scaled_midpoints(&raw, bits(1.0), Subnormals::Ieee);
            let value = value as f32 / 2.0;
            let distance = |i: &usize| ((sorted[*i] as f32 - value).abs() * 2.0) as i64;
            let expected = (0..sorted.len()).min_by_key(distance).unwrap() as u64;
            prop_assert_eq!(nearest(&midpoints, bits(value)), expected);
        }
    }
}
