//! Root mean square norm by the algorithm of `rms_norm`.

use super::{Unrounded, is_special, units};

/// Digits of the factor.
const DIGITS: u32 = 18;
/// First bits of the sum that are kept.
const DIVISOR: u32 = 20;
/// Digits that [`Factor::further_digits`] tells.
pub const FURTHER: u32 = 10;

/// sqrt(`numerator` / `denominator`) as digits and exponent: so many digits, truncated, after the denominator was
/// truncated to 20 bits. The numerator has 20 bits at most. `None` if the denominator is 0.
pub fn root(numerator: u64, denominator: u128, digits: u32) -> Option<(u64, i64)> {
    let bits = u128::BITS - denominator.leading_zeros();
    let cut = i64::from(bits) - i64::from(DIVISOR);
    let divisor = if cut > 0 { denominator >> cut } else { denominator << -cut };
    // numerator / denominator = quotient * 2^-cut. An even number of further places gives at least enough digits.
    let mut places = 2 * i64::from(digits + DIVISOR) + 2;
    places += (places + cut) & 1;
    let root = (u128::from(numerator) << places).checked_div(divisor)?.isqrt();
    let drop = i64::from(u128::BITS - root.leading_zeros()) - i64::from(digits);
    Some(((root >> drop) as u64, drop - (places + cut) / 2))
}

/// sqrt(`numerator` / `denominator`) as digits and exponent: 18 digits, truncated, after the denominator was truncated
/// to 20 bits. The numerator has 20 bits at most. `None` if the denominator is 0.
pub fn inverse_root(numerator: u64, denominator: u128) -> Option<(u64, i64)> {
    root(numerator, denominator, DIGITS)
}

/// The factor of a row: sqrt(numerator / (whole + weight epsilon)), with whole and epsilon in units of 2^-48.
#[derive(Clone, Debug)]
pub struct Factor {
    pub(super) numerator: u64,
    pub(super) whole: u128,
    pub(super) weight: u64,
}

impl Factor {
    /// Of the root mean square norm of the row `x`. `None`: the row has an infinity or a NaN.
    pub fn rms(x: &[u16]) -> Option<Self> {
        if x.iter().any(|&x| is_special(x)) {
            return None;
        }
        let whole = x.iter().map(|&x| u128::from(units(x).1).pow(2)).sum();
        Some(Self { numerator: x.len() as u64, whole, weight: x.len() as u64 })
    }

    fn denominator(&self, epsilon: u64) -> u128 {
        self.whole + u128::from(self.weight) * u128::from(epsilon)
    }

    /// Digits and exponent. `None`: undefined.
    pub(super) fn digits(&self, epsilon: u64) -> Option<(u64, i64)> {
        inverse_root(self.numerator, self.denominator(epsilon))
    }

    /// The [`FURTHER`] digits after those that count. Near 0, and near the largest number, the factor is near to a
    /// place where its last digit changes. `None`: undefined.
    pub fn further_digits(&self, epsilon: u64) -> Option<u64> {
        let (digits, _) = root(self.numerator, self.denominator(epsilon), DIGITS + FURTHER)?;
        Some(digits & ((1 << FURTHER) - 1))
    }
}

/// The row `x` times its factor, before gains and rounding. `epsilon` is in units of 2^-48. `None`: undefined.
pub fn unrounded(x: &[u16], epsilon: u64) -> Option<Vec<Unrounded>> {
    let (digits, exponent) = Factor::rms(x)?.digits(epsilon)?;
    let scaled = |&x: &u16| {
        let (negative, magnitude) = units(x);
        Unrounded { negative, magnitude: u128::from(magnitude) * u128::from(digits), exponent }
    };
    Some(x.iter().map(scaled).collect())
}

/// The row `x`, normalised; without `gains` these are 1. `epsilon` is in units of 2^-48. `None`: undefined.
pub fn rms_norm(x: &[u16], gains: Option<&[u16]>, epsilon: u64) -> Option<Vec<u16>> {
    let scaled = |(k, y): (usize, &Unrounded)| gains.map_or_else(|| y.rounded(), |gains| y.gained(gains[k]));
    Some(unrounded(x, epsilon)?.iter().enumerate().map(scaled).collect())
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn roots() {
        for (n, d) in [(1u64, 1u64), (4, 1), (1, 2), (2, 1), (3, 7), (768, 12_345_678_901_234), (65_536, 3)] {
            let (digits, exponent) = inverse_root(n, d.into()).unwrap();
            assert!((1 << 17..1 << 18).contains(&digits));
            // The divisors have few bits. Otherwise the distance to n/d is compared with a tolerance.
            let scale = BigUint::from(1u8) << 200;
            let power = 200 + 2 * exponent;
            let low = (BigUint::from(digits).pow(2) * d) << power;
            let high = (BigUint::from(digits + 2).pow(2) * d) << power;
            assert!(low <= &scale * n * 1_000_001u32 / 1_000_000u32 && high > scale * n, "{n} / {d}");
        }
        assert_eq!(inverse_root(1, 0), None);
    }

    #[test]
    fn further_digits_continue_the_root() {
        // 2^-0.5 is 0.1011010100000100111100110011001111111001110111101 in binary: 18 digits, then 10 more.
        assert_eq!(inverse_root(1, 2), Some((0b10_1101_0100_0001_0011, -18)));
        let factor = Factor { numerator: 1, whole: 1, weight: 1 };
        assert_eq!(factor.further_digits(1), Some(0b11_0011_0011));
        assert_eq!(factor.further_digits(0), Some(0));
    }

    #[test]
    fn by_hand() {
        // 3 and 4: the mean square is 12.5, the factor 0.28284.
        assert_eq!(rms_norm(&[0x4200, 0x4400], None, 0), Some(vec![0x3aca, 0x3c87]));
        // All elements are equal: 1, or slightly less by truncation, which rounds to 1.
        assert_eq!(
            rms_norm(&[0x4900; 5], Some(&[0x3c00, 0xbc00, 0, 0x4000, 0x7c00]), 0),
            Some(vec![0x3c00, 0xbc00, 0, 0x4000, 0x7c00])
        );
        assert_eq!(rms_norm(&[0; 3], None, 0), None);
        assert_eq!(rms_norm(&[0, 0x8000], None, 1), Some(vec![0, 0x8000]));
        assert_eq!(rms_norm(&[0x3c00, 0x7c00], None, 1), None);
    }
}
