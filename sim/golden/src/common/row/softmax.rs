//! Softmax by the algorithm of `softmax`, in integers.
//!
//! The algorithm uses powers of two instead of powers of e. t = x log2 e is a multiple of 2^-16: rounded down in
//! magnitude and, if it is below 0, one unit less. The whole part of t is k. The power of two of its fraction, m /
//! 2^16, comes from straight lines. Both are the element's weight. Beat by beat, M is the largest k so far, and the sum
//! of weights is kept relative to 2^M. Weights are multiples of 2^-places, each rounded down. The sum so far is rounded
//! down when M grows.

use num_bigint::BigInt;

use super::{NAN, Unrounded, is_special, units};
use crate::common::float::real::{PLACES, exp, ln_2};

/// The results of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// fp16 numbers.
    pub values: Vec<u16>,
    /// A counted element is +infinity or NaN; all values are NaN.
    pub undefined: bool,
    /// No counted element is more than -infinity; all values are 0.
    pub empty: bool,
}

/// Constants of the algorithm.
#[derive(Clone, Debug)]
pub struct Softmax {
    /// log2 e in units of 2^-26.
    log2_e: u64,
    /// 2^(k / 64) in units of 2^-17.
    powers: Vec<u64>,
}

impl Default for Softmax {
    fn default() -> Self {
        Self::new()
    }
}

impl Softmax {
    /// The constants.
    pub fn new() -> Self {
        let whole = |value: BigInt| u64::try_from(value).unwrap_or(u64::MAX);
        let log2_e = whole((BigInt::from(1) << (PLACES + 26)) / ln_2());
        let power = |k: u32| whole((exp(&((ln_2() * k) >> 6)) >> (PLACES - 18)) + 1) >> 1;
        Self { log2_e, powers: (0..=64).map(power).collect() }
    }

    /// Whole part of the binary logarithm, and the power of two of its fraction in units of 2^-16.
    pub fn power(&self, x: u16) -> (i64, u64) {
        let (negative, magnitude) = units(x);
        // In units of 2^-50; the hardware drops the same bits in two steps.
        let t = ((u128::from(magnitude) * u128::from(self.log2_e)) >> 34) as i64;
        // Minus zero is zero.
        let t = if negative && magnitude > 0 { -t - 1 } else { t };
        let (k, fraction) = (t >> 16, (t & 0xffff) as u64);
        let (line, low) = ((fraction >> 10) as usize, fraction & 0x3ff);
        let rise = self.powers[line + 1] - self.powers[line];
        (k, (self.powers[line] + ((rise * low) >> 10)) >> 1)
    }

    /// The row `x` in beats of `lanes`. Its first `length` elements count. Sums have `places` fraction bits.
    pub fn softmax(&self, x: &[u16], length: usize, lanes: usize, places: u32) -> Weights {
        let bad = |(k, &x): (usize, &u16)| k < length && is_special(x) && x != 0xfc00;
        let undefined = x.iter().enumerate().any(bad);
        let shares = self.unrounded(x, length, lanes, places);
        let values = match &shares {
            _ if undefined => vec![NAN; x.len()],
            Some(shares) => shares.iter().map(Unrounded::rounded).collect(),
            None => vec![0; x.len()],
        };
        Weights { values, undefined, empty: shares.is_none() }
    }

    /// The same row before its results are rounded; infinities and NaNs do not count. `None`: no element counts.
    pub fn unrounded(&self, x: &[u16], length: usize, lanes: usize, places: u32) -> Option<Vec<Unrounded>> {
        let weight = |(k, &x): (usize, &u16)| (k < length && !is_special(x)).then(|| self.power(x));
        let weights: Vec<_> = x.iter().enumerate().map(weight).collect();
        // The largest whole part so far, and the sum relative to it.
        let (mut most, mut sum) = (None, 0u64);
        for beat in weights.chunks(lanes) {
            let Some(here) = beat.iter().flatten().map(|weight| weight.0).max() else { continue };
            let before = most.unwrap_or(here);
            let now = here.max(before);
            let down = |value: u64, by: i64| value.checked_shr(by as u32).unwrap_or(0);
            sum = down(sum, now - before);
            sum += beat.iter().flatten().map(|&(k, m)| down(m << (places - 16), now - k)).sum::<u64>();
            most = Some(now);
        }
        let most = most?;
        let (inverse, scale) = reciprocal(sum);
        let share = |weight: &Option<(i64, u64)>| {
            let (k, m) = weight.unwrap_or((most, 0));
            let exponent = k - most - 16 + scale + i64::from(places);
            Unrounded { negative: false, magnitude: u128::from(m) * u128::from(inverse), exponent }
        };
        Some(weights.iter().map(share).collect())
    }
}

/// 1 / `sum` is about the first number times 2 to the power of the second. It depends on the first 18 bits after the
/// leading 1 of `sum`. Lines between 257 quotients with 20 places give it, and it is truncated to 18 places.
pub fn reciprocal(sum: u64) -> (u64, i64) {
    let top = 63 - sum.leading_zeros();
    let fraction = (if top > 18 { sum >> (top - 18) } else { sum << (18 - top) }) & 0x3_ffff;
    let quotient = |line: u64| (1u64 << 28) / (256 + line);
    let (line, low) = (fraction >> 10, fraction & 0x3ff);
    let fall = quotient(line) - quotient(line + 1);
    ((quotient(line) - ((fall * low) >> 10)) >> 2, -18 - i64::from(top))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let softmax = Softmax::new();
        let of = |x: &[u16], length| softmax.softmax(x, length, 4, 26);
        // Two equal elements, and one that is e times as likely: 0.731.
        assert_eq!(of(&[0x4900; 2], 2).values, [0x3800; 2]);
        assert_eq!(of(&[0x3c00, 0], 2).values, [0x39d9, 0x344e]);
        assert_eq!(of(&[0x3c00, 0, 0x5000], 2).values, [0x39d9, 0x344e, 0]);
        assert_eq!(of(&[0xfc00; 6], 6), Weights { values: vec![0; 6], undefined: false, empty: true });
        assert_eq!(of(&[0x4000; 6], 0), Weights { values: vec![0; 6], undefined: false, empty: true });
        assert_eq!(of(&[0xfc00, 0xc000], 2).values, [0, 0x3c00]);
        assert_eq!(of(&[0x7c00, 0xc000], 2), Weights { values: vec![NAN; 2], undefined: true, empty: false });
        assert_eq!(of(&[0xc000, 0x7e01], 1).values, [0x3c00, 0]);
    }

    #[test]
    fn both_zeros_are_alike() {
        let softmax = Softmax::new();
        for length in 1..300 {
            let mut row = vec![0u16; length];
            let plain = softmax.softmax(&row, length, 4, 27);
            row[length / 2] = 0x8000;
            assert_eq!(softmax.softmax(&row, length, 4, 27), plain, "{length}");
            assert!(plain.values.iter().all(|&y| y == plain.values[0]));
        }
    }

    #[test]
    fn reciprocals_are_close() {
        for sum in (1u64 << 20..1 << 22).step_by(997) {
            let (digits, scale) = reciprocal(sum);
            // The product with the sum is 1, within 2^-17.
            let one = u128::from(digits) * u128::from(sum);
            let unit = 1u128 << -scale;
            assert!(one.abs_diff(unit) <= unit >> 17, "{sum}: {digits}");
        }
    }
}
