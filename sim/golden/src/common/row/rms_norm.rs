//! Root mean square norm by the algorithm of `rms_norm`.

use num_bigint::BigUint;

use super::{NAN, is_nan, is_special, nearest, units};

/// Digits of the factor.
const DIGITS: u64 = 18;
/// First bits of the sum that are kept.
const DIVISOR: u64 = 20;

/// sqrt(`numerator` / `denominator`) as digits and exponent: 18 digits, truncated, after the denominator was truncated
/// to 20 bits. `None` if the denominator is 0.
pub fn inverse_root(numerator: &BigUint, denominator: &BigUint) -> Option<(u64, i64)> {
    if *denominator == BigUint::ZERO {
        return None;
    }
    let cut = denominator.bits() as i64 - DIVISOR as i64;
    let divisor = if cut > 0 { denominator >> cut } else { denominator << -cut };
    // numerator / denominator = quotient * 2^-cut. An even number of further places gives at least enough digits.
    let mut places = 2 * (DIGITS as i64 + DIVISOR as i64) + 2;
    places += (places + cut) & 1;
    let root = ((numerator << places) / divisor).sqrt();
    let drop = root.bits() as i64 - DIGITS as i64;
    let digits = u64::try_from(root >> drop).ok()?;
    Some((digits, drop - (places + cut) / 2))
}

/// The row `x`, normalised; without `gains` these are 1. `epsilon` is in units of 2^-48. `None`: undefined.
pub fn rms_norm(x: &[u16], gains: Option<&[u16]>, epsilon: u64) -> Option<Vec<u16>> {
    if x.iter().any(|&x| is_special(x)) {
        return None;
    }
    // Squares have 80 bits at most, and a row far less than 2^48 elements.
    let sum: u128 = x.iter().map(|&x| u128::from(units(x).1).pow(2)).sum();
    let n = BigUint::from(x.len());
    let (digits, exponent) = inverse_root(&n, &(sum + &n * epsilon))?;
    let scaled = |(k, &x): (usize, &u16)| scale(x, gains.map(|gains| gains[k]), digits, exponent + 24);
    Some(x.iter().enumerate().map(scaled).collect())
}

/// `x` * `digits` * 2^`exponent` * `gain`, rounded once.
pub fn scale(x: u16, gain: Option<u16>, digits: u64, exponent: i64) -> u16 {
    let (sign, magnitude) = units(x);
    let Some(gain) = gain else {
        return nearest(sign, u128::from(magnitude) * u128::from(digits), exponent - 24);
    };
    let negative = sign != (gain >> 15 == 1);
    if is_nan(gain) || (is_special(gain) && magnitude == 0) {
        return NAN;
    }
    if is_special(gain) {
        return 0x7c00 | u16::from(negative) << 15;
    }
    // 40, 18 and 40 bits.
    nearest(negative, u128::from(magnitude) * u128::from(digits) * u128::from(units(gain).1), exponent - 48)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots() {
        for (n, d) in [(1u64, 1u64), (4, 1), (1, 2), (2, 1), (3, 7), (768, 12_345_678_901_234), (65_536, 3)] {
            let (digits, exponent) = inverse_root(&n.into(), &d.into()).unwrap();
            assert!((1 << 17..1 << 18).contains(&digits));
            // The divisors have few bits. Otherwise the distance to n/d is compared with a tolerance.
            let scale = BigUint::from(1u8) << 200;
            let power = 200 + 2 * exponent;
            let low = (BigUint::from(digits).pow(2) * d) << power;
            let high = (BigUint::from(digits + 2).pow(2) * d) << power;
            assert!(low <= &scale * n * 1_000_001u32 / 1_000_000u32 && high > scale * n, "{n} / {d}");
        }
        assert_eq!(inverse_root(&1u8.into(), &BigUint::ZERO), None);
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
