//! From the exact sums of a column to its result: y = s_a s_w (sum of centroids) + s_w (sum of outliers times centroids).
//!
//! Sums become fp32 with one rounding. Each later step rounds once, to nearest, ties to even, and the last step rounds
//! to fp16.

use crate::common::float::{Float, single};
use crate::common::row::is_special;
use crate::format::FloatFormat;

/// The factors of the sums, fp32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scales {
    /// The token's scale, fp16.
    pub token: u16,
    /// Factor of the sum of centroids, in addition to the token's scale.
    pub dense: u32,
    /// Factor of the sum of outliers.
    pub sparse: u32,
}

/// A result from its two sums. The second sum is in units of 2^-24 of an outlier.
#[must_use]
pub fn element(dense: i128, sparse: i128, scales: Scales) -> u16 {
    let alpha = single::mul(single::from_fp16(scales.token), scales.dense);
    let dense = single::mul(single::from_int(dense), alpha);
    let sparse = single::mul(single::from_int(sparse), scales.sparse);
    single::to_fp16(single::add(dense, sparse))
}

/// A result from its two sums. The second sum is missing if an outlier was infinite or no number. The result is then
/// the canonical NaN, and so it is if the token's scale is infinite or no number.
#[must_use]
pub fn result(dense: i128, sparse: Option<i128>, scales: Scales) -> u16 {
    match sparse {
        Some(sparse) if !is_special(scales.token) => element(dense, sparse, scales),
        _ => NAN,
    }
}

/// The canonical NaN.
const NAN: u16 = 0x7e00;

/// [`result`] in other formats: scale and result have format `narrow`, factors and intermediate results have format
/// `wide`.
#[must_use]
pub fn result_in(
    (wide, narrow): (FloatFormat, FloatFormat),
    dense: i128,
    sparse: Option<i128>,
    (token, of_dense, of_sparse): (u64, u64, u64),
) -> u64 {
    let (float, small) = (Float::ieee(wide), Float::ieee(narrow));
    let Some(sparse) = sparse.filter(|_| narrow.is_finite(token)) else { return narrow.nan() };
    let alpha = float.mul(small.convert(token, wide).bits, of_dense).bits;
    let dense = float.mul(float.from_int(dense).bits, alpha).bits;
    let sparse = float.mul(float.from_int(sparse).bits, of_sparse).bits;
    float.convert(float.add(dense, sparse).bits, narrow).bits
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: u32 = 0x3f80_0000;

    #[test]
    fn by_hand() {
        let scales =
            |token, dense: f32, sparse: f32| Scales { token, dense: dense.to_bits(), sparse: sparse.to_bits() };
        // 2 x 0.5 x 7 - 3 x 2^24 x 2^-24.
        assert_eq!(element(7, -3 << 24, scales(0x4000, 0.5, 2f32.powi(-24))), 0x4400);
        // Sums round first: 2^24 + 1 is 2^24 in fp32.
        let down = scales(0x3c00, 2f32.powi(-24), 1.0);
        assert_eq!((element((1 << 24) + 1, -1, down), element((1 << 24) + 3, -1, down)), (0, 4));
    }

    /// Both computations agree.
    #[test]
    fn soft_floats_say_the_same() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state >> 16
        };
        for round in 0..20_000u32 {
            let shift = (random() % 40) as u32;
            let (dense, sparse) = ((random() as i64) << 16 >> (shift + 8), (random() as i64) << 16 >> (shift + 2));
            // About 2^-27 for half of them, any factor for the others.
            let mut factor =
                || if round % 2 == 0 { (random() as u32 & 0x81ff_ffff) | 0x3200_0000 } else { random() as u32 };
            let scales = Scales { dense: factor(), sparse: factor(), token: random() as u16 };
            let sparse = (round % 16 != 0).then_some(i128::from(sparse));
            let raw = (scales.token.into(), scales.dense.into(), scales.sparse.into());
            let soft = result_in((FloatFormat::Fp32, FloatFormat::Fp16), dense.into(), sparse, raw);
            assert_eq!(u64::from(result(dense.into(), sparse, scales)), soft, "{dense} {sparse:?} {scales:?}");
        }
    }

    #[test]
    fn what_has_no_value() {
        let of = |token, dense| Scales { token, dense, sparse: ONE };
        // Too large for fp16, and for fp32; 0 times infinity.
        assert_eq!(result(65_520, Some(0), of(0x3c00, ONE)), 0x7c00);
        assert_eq!(result(-1, Some(0), of(0x7bff, 0x7f00_0000)), 0xfc00);
        assert_eq!(result(0, Some(0), of(0x3c00, 0x7f80_0000)), NAN);
        // Outliers and scales that are infinite or no numbers.
        assert_eq!(result(1, None, of(0x3c00, ONE)), NAN);
        for scale in [0x7c00, 0xfc00, 0x7e01] {
            assert_eq!(result(1, Some(1), of(scale, ONE)), NAN);
        }
    }
}
