//! Rotary position embedding of pairs of fp16 numbers.

use crate::common::float::binary16::{fma, mul};

/// A pair, rotated by an angle: both products with the sine are rounded, then the sums.
#[must_use]
pub fn turn((a, b): (u16, u16), cosine: u16, sine: u16) -> (u16, u16) {
    (fma(a, cosine, mul(b, sine) ^ 0x8000), fma(b, cosine, mul(a, sine)))
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::turn;

    fn bits(value: f64) -> u16 {
        crate::kllm::fp16::half(value).to_bits()
    }

    #[test]
    fn a_quarter_turn_and_none() {
        assert_eq!(turn((bits(3.0), bits(-5.0)), bits(1.0), bits(0.0)), (bits(3.0), bits(-5.0)));
        assert_eq!(turn((bits(3.0), bits(-5.0)), bits(0.0), bits(1.0)), (bits(5.0), bits(3.0)));
    }

    /// A rounding of a product, and one of a sum that is up to twice as large.
    #[test]
    fn close_to_exact_arithmetic() {
        for k in 0..20_000_u32 {
            let number = |salt: u32| {
                let h = (k.wrapping_mul(2_654_435_761) ^ salt.wrapping_mul(40_503)).wrapping_mul(2_246_822_519) >> 16;
                crate::kllm::fp16::half(f64::from(h as i32 - 32768) / 4096.0)
            };
            let (a, b) = (number(1), number(2));
            let angle = f64::from(k) * 0.01;
            let (cosine, sine) = (crate::kllm::fp16::half(angle.cos()), crate::kllm::fp16::half(angle.sin()));
            let (first, second) = turn((a.to_bits(), b.to_bits()), cosine.to_bits(), sine.to_bits());
            let [a, b, c, s] = [a, b, cosine, sine].map(f64::from);
            for (got, x, y) in [(first, a * c, -(b * s)), (second, b * c, a * s)] {
                let most = x.abs().max(y.abs()).max(6.2e-5);
                let error = (f64::from(f16::from_bits(got)) - (x + y)).abs();
                assert!(error <= 3.0 * most * f64::powi(2.0, -11), "{k}: {error} of {most}");
            }
        }
    }
}
