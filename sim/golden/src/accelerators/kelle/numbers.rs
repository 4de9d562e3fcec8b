//! From numbers to integers and back.

use crate::accelerators::pieces::Loaded;
use crate::common::float::single;

/// Least and largest activation.
pub(super) const ACTIVATION: (i32, i32) = (i16::MIN as i32, i16::MAX as i32);
/// The integer of a probability of 1.
const ONE: i32 = 1 << 15;

/// The 16-bit integer nearest to an fp16 number times an fp32 quantizer, and whether it saturates or comes from a NaN.
pub fn integer(number: u16, quantizer: u32) -> (i64, bool) {
    let (integer, outside) = single::to_int(single::mul(single::from_fp16(number), quantizer), ACTIVATION);
    (integer.into(), outside)
}

/// Integers of a row, and how many of them saturate or come from NaNs.
pub fn integers(bytes: &[u8], quantizer: u32) -> (Vec<i64>, u64) {
    let integers = bytes.chunks(2).map(|pair| integer(u16::from_le_bytes([pair[0], pair[1]]), quantizer));
    let (integers, outside): (Vec<i64>, Vec<bool>) = integers.unzip();
    (integers, outside.into_iter().filter(|&outside| outside).count() as u64)
}

/// Whether some number of a row saturates or is a NaN, among the numbers that could be read.
pub(super) fn some_saturate(row: &Loaded, quantizer: u32) -> bool {
    row.pieces().any(|piece| integers(piece, quantizer).1 > 0)
}

/// A sum times a scale, plus a bias, as a number of fp16.
pub fn result(sum: i64, scale: u32, bias: u32) -> u16 {
    single::to_fp16(single::add(single::mul(single::from_int(sum.into()), scale), bias))
}

/// The integer nearest to a probability in units of 2^-15; 0 for a NaN.
pub fn weight(probability: u16) -> i64 {
    // 2^15 is exact, and so is the product.
    let units = single::mul(single::from_fp16(probability), single::from_int(ONE.into()));
    single::to_int(units, (0, ONE)).0.into()
}

/// The inner product.
pub fn product(a: &[i64], b: &[i64]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_integers() {
        let one = 1f32.to_bits();
        let half = |x: f64| crate::kllm::fp16::half(x).to_bits();
        let of = |x: f64, quantizer: f32| integer(half(x), quantizer.to_bits());
        assert_eq!([0.5, 1.5, -2.5, 0.75].map(|x| of(x, 1.0).0), [0, 2, -2, 1]);
        assert_eq!(
            (of(3.0, 10922.5), of(3.0, 10922.0), of(-4.0, 8192.0)),
            ((32767, true), (32766, false), (-32768, false))
        );
        assert_eq!(
            (of(-4.0, 8193.0), integer(0x7e00, one), integer(0x7c00, one)),
            ((-32768, true), (0, true), (32767, true))
        );
        assert_eq!(integer(half(1.0), 0x7fc0_0000), (0, true));
        assert_eq!(integers(&[0, 0x3c, 0, 0x7c], one), (vec![1, 32767], 1));
    }

    #[test]
    fn probabilities() {
        let half = |x: f64| crate::kllm::fp16::half(x).to_bits();
        assert_eq!(
            [1.0, 0.5, 2f64.powi(-16), 3.0 * 2f64.powi(-16), 0.0].map(|p| weight(half(p))),
            [32768, 16384, 0, 2, 0]
        );
        assert_eq!(weight(0x7e00), 0);
    }

    #[test]
    fn results_round_once_each() {
        // 2^24 + 1 is no number of fp32, and a zero has no sign.
        let one = 1f32.to_bits();
        assert_eq!(result((1 << 24) + 1, 2f32.powi(-24).to_bits(), 0), 0x3c00);
        assert_eq!((result(0, (-1f32).to_bits(), 0), result(-3, one, 1f32.to_bits())), (0, 0xc000));
        assert_eq!(result(70_000, one, 0), 0x7c00);
    }
}
