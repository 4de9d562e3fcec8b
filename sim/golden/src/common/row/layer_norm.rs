//! Layer norm by the algorithm of `layer_norm`.

use num_bigint::BigInt;

use super::rms_norm::inverse_root;
use super::{NAN, is_nan, is_special, nearest, units};
use crate::common::float::binary16;

/// First bits of n x - s that are kept.
const CENTRED: u32 = 22;

/// The row `x`, normalised. Without gains and biases the gains are 1 and there are no biases. `epsilon` is in units of
/// 2^-48. `None`: undefined.
pub fn layer_norm(x: &[u16], affine: Option<(&[u16], &[u16])>, epsilon: u64) -> Option<Vec<u16>> {
    if x.iter().any(|&x| is_special(x)) {
        return None;
    }
    let value = |x: u16| {
        let (negative, magnitude) = units(x);
        if negative { -i128::from(magnitude) } else { magnitude.into() }
    };
    let n = x.len() as i128;
    let sum: i128 = x.iter().map(|&x| value(x)).sum();
    let squares: i128 = x.iter().map(|&x| value(x).pow(2)).sum();
    let whole = BigInt::from(n) * squares - BigInt::from(sum).pow(2) + BigInt::from(n).pow(2) * epsilon;
    let (digits, exponent) = inverse_root(&1u8.into(), whole.magnitude())?;
    let scaled = |(k, &x): (usize, &u16)| {
        let centred = n * value(x) - sum;
        let (negative, magnitude) = (centred < 0, centred.unsigned_abs());
        let drop = (u128::BITS - magnitude.leading_zeros()).saturating_sub(CENTRED);
        // 22 and 18 bits, in units of 2^drop.
        let kept = (magnitude >> drop) * u128::from(digits);
        let exponent = exponent + i64::from(drop);
        let Some((gains, biases)) = affine else { return nearest(negative, kept, exponent) };
        let (gain, zero) = (gains[k], kept == 0);
        let sign = negative != (gain >> 15 == 1);
        let product = if is_nan(gain) || (is_special(gain) && zero) {
            NAN
        } else if is_special(gain) {
            0x7c00 | u16::from(sign) << 15
        } else {
            nearest(sign, kept * u128::from(units(gain).1), exponent - 24)
        };
        binary16::add(product, biases[k])
    };
    Some(x.iter().enumerate().map(scaled).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Mean 2, variance 1.
        assert_eq!(layer_norm(&[0x3c00, 0x4200], None, 0), Some(vec![0xbc00, 0x3c00]));
        let affine = (&[0x4000, 0x3c00][..], &[0x3c00, 0x0000][..]);
        assert_eq!(layer_norm(&[0x3c00, 0x4200], Some(affine), 0), Some(vec![0xbc00, 0x3c00]));
        // A constant row has no norm without epsilon; far from 0 nothing cancels.
        assert_eq!(layer_norm(&[0x4500; 3], None, 0), None);
        assert_eq!(layer_norm(&[0x4500; 3], None, 1), Some(vec![0; 3]));
        assert_eq!(layer_norm(&[0x77ff, 0x7800], None, 0), Some(vec![0xbc00, 0x3c00]));
    }
}
