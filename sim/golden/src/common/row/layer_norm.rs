//! Layer norm by the algorithm of `layer_norm`.

use super::rms_norm::Factor;
use super::{Unrounded, is_special, units};
use crate::common::float::binary16;

/// First bits of n x - s that are kept.
const CENTRED: u32 = 22;

fn value(x: u16) -> i128 {
    let (negative, magnitude) = units(x);
    if negative { -i128::from(magnitude) } else { magnitude.into() }
}

/// The sum of a row in units of 2^-24.
fn sum(x: &[u16]) -> i128 {
    x.iter().map(|&x| value(x)).sum()
}

/// The factor of the layer norm of the row `x`, which has 2^20 elements at most. `None`: the row has an infinity or a NaN.
pub fn factor(x: &[u16]) -> Option<Factor> {
    if x.iter().any(|&x| is_special(x)) {
        return None;
    }
    let n = x.len() as u64;
    let squares: i128 = x.iter().map(|&x| value(x).pow(2)).sum();
    let whole = (squares * i128::from(n) - sum(x).pow(2)).unsigned_abs();
    Some(Factor { numerator: 1, whole, weight: n * n })
}

/// The row `x` less its mean, times its factor, before gains, rounding and biases. `epsilon` is in units of 2^-48.
/// `None`: undefined.
pub fn unrounded(x: &[u16], epsilon: u64) -> Option<Vec<Unrounded>> {
    let (digits, exponent) = factor(x)?.digits(epsilon)?;
    let sum = sum(x);
    let scaled = |&one: &u16| {
        let centred = value(one) * x.len() as i128 - sum;
        let size = centred.unsigned_abs();
        let drop = (u128::BITS - size.leading_zeros()).saturating_sub(CENTRED);
        let magnitude = (size >> drop) * u128::from(digits);
        Unrounded { negative: centred < 0, magnitude, exponent: exponent + i64::from(drop) }
    };
    Some(x.iter().map(scaled).collect())
}

/// The row `x`, normalised. Without gains and biases the gains are 1 and there are no biases. `epsilon` is in units of
/// 2^-48. `None`: undefined.
pub fn layer_norm(x: &[u16], affine: Option<(&[u16], &[u16])>, epsilon: u64) -> Option<Vec<u16>> {
    let scaled = |(k, y): (usize, &Unrounded)| {
        let Some((gains, biases)) = affine else { return y.rounded() };
        binary16::add(y.gained(gains[k]), biases[k])
    };
    Some(unrounded(x, epsilon)?.iter().enumerate().map(scaled).collect())
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
