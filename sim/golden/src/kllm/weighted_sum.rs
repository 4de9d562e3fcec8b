//! Weighted sum of a distribution: every bin's count times the bin's centroid, added up in bin order.
//!
//! KLLM section III-B, step 3. A count becomes fp16 first (nearest even; exact up to 2048), even if the accumulator is
//! fp32. The sum starts from +0. The order is part of the result: floating-point addition is not associative.

use super::fp16_mac::Fp16Mac;
use crate::common::float::{Float, FloatFormat};

/// A count as fp16. From 65,520 on it is infinite; K = 4096 counts and 4-bit integers reach 61,440.
pub fn count_to_fp16(mac: Fp16Mac, count: u64) -> u64 {
    Float { format: FloatFormat::Fp16, subnormals: mac.subnormals }.from_int(count.into()).bits
}

/// Whether a count is too large for fp16. The sum that contains it is an infinity or a NaN, whatever the accumulator.
pub fn is_infinite(count: u64) -> bool {
    count_to_fp16(Fp16Mac::PAPER, count) == FloatFormat::Fp16.infinity(false)
}

/// The sum, in the format of the accumulator. `counts` and `centroids` (fp16) are in bin order.
pub fn weighted_sum(mac: Fp16Mac, counts: &[u64], centroids: &[u64]) -> u64 {
    let terms = counts.iter().zip(centroids);
    terms.fold(0, |sum, (&count, &centroid)| mac.step(sum, count_to_fp16(mac, count), centroid))
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::*;
    use crate::common::float::Subnormals;

    fn bits(x: f32) -> u64 {
        u64::from(f16::from_f32(x).to_bits())
    }

    const WIDE: Fp16Mac = Fp16Mac { accumulate: FloatFormat::Fp32, fused: true, subnormals: Subnormals::Ieee };

    #[test]
    fn worked_by_hand() {
        let centroids = [-1.5, -0.25, 0.5, 2.0].map(bits);
        // -1.5 - 0.75 + 0 + 8
        assert_eq!(weighted_sum(Fp16Mac::PAPER, &[1, 3, 0, 4], &centroids), bits(5.75));
        assert_eq!(weighted_sum(WIDE, &[1, 3, 0, 4], &centroids), u64::from(5.75_f32.to_bits()));
        // No counts, and no counts of negative centroids: +0.
        assert_eq!(weighted_sum(Fp16Mac::PAPER, &[0; 4], &centroids), 0);
    }

    #[test]
    fn counts_round_to_fp16() {
        assert_eq!(count_to_fp16(Fp16Mac::PAPER, 2049), bits(2048.0));
        assert_eq!(count_to_fp16(Fp16Mac::PAPER, 4095), bits(4096.0));
        assert_eq!(count_to_fp16(WIDE, 61_440), bits(61_440.0));
        assert_eq!(count_to_fp16(Fp16Mac::PAPER, 65_520), u64::from(f16::INFINITY.to_bits()));
        assert_eq!(
            [0, 61_440, 65_519, 65_520, 70_000, 1 << 32].map(is_infinite),
            [false, false, false, true, true, true]
        );
    }

    #[test]
    fn order_matters() {
        // 2048 + 1 + 1 loses each 1, but 1 + 1 + 2048 does not.
        let up = weighted_sum(Fp16Mac::PAPER, &[1, 1, 2048], &[bits(1.0); 3]);
        let down = weighted_sum(Fp16Mac::PAPER, &[2048, 1, 1], &[bits(1.0); 3]);
        assert_eq!((up, down), (bits(2050.0), bits(2048.0)));
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// Small integers never round: the sum is exact.
        #[test]
        fn exact_where_nothing_rounds(terms in prop::collection::vec((0..8_u64, -8..=8_i32), 0..16)) {
            let counts: Vec<u64> = terms.iter().map(|t| t.0).collect();
            let centroids: Vec<u64> = terms.iter().map(|t| bits(t.1 as f32)).collect();
            let exact: i64 = terms.iter().map(|t| t.0 as i64 * i64::from(t.1)).sum();
            prop_assert_eq!(weighted_sum(Fp16Mac::PAPER, &counts, &centroids), bits(exact as f32));
            prop_assert_eq!(WIDE.narrow(weighted_sum(WIDE, &counts, &centroids)), bits(exact as f32));
        }
    }
}
