//! The multiply-add of KLLM's processing elements: fp16 factors, an accumulator of fp16 or fp32.
//!
//! KLLM section IV-A. Every operation rounds to nearest, ties to even. With an fp32 accumulator the factors are
//! converted first, which is exact. Their product is exact too, so one rounding and two roundings give the same result.

use crate::common::float::{Float, FloatFormat, Subnormals};

/// How the multiply-add rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp16Mac {
    /// Format of the accumulator: fp16 or fp32.
    pub accumulate: FloatFormat,
    /// One rounding a step; otherwise the product is rounded before the addition.
    pub fused: bool,
    /// How subnormal numbers are treated.
    pub subnormals: Subnormals,
}

/// fp16 values, the format of the factors.
const FP16: FloatFormat = FloatFormat::Fp16;

impl Fp16Mac {
    /// The paper's multiply-add: an fp16 accumulator, one rounding, subnormals as in IEEE 754.
    pub const PAPER: Self = Self { accumulate: FP16, fused: true, subnormals: Subnormals::Ieee };

    /// Arithmetic in the format of the accumulator.
    pub fn float(self) -> Float {
        Float { format: self.accumulate, subnormals: self.subnormals }
    }

    /// An fp16 value in the format of the accumulator.
    pub fn widen(self, value: u64) -> u64 {
        if self.accumulate == FP16 {
            return value;
        }
        Float { format: FP16, subnormals: self.subnormals }.convert(value, self.accumulate).bits
    }

    /// A value of the accumulator's format as fp16.
    pub fn narrow(self, value: u64) -> u64 {
        if self.accumulate == FP16 { value } else { self.float().convert(value, FP16).bits }
    }

    /// One step: `accumulator` + a * b.
    pub fn step(self, accumulator: u64, a: u64, b: u64) -> u64 {
        let (a, b) = (self.widen(a), self.widen(b));
        let float = self.float();
        if self.fused { float.fma(a, b, accumulator) } else { float.mul_then_add(a, b, accumulator) }.bits
    }
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
    fn one_rounding_or_two() {
        // (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20: the last term is lost when the product is rounded.
        let x = bits(1.0 + 1.0 / 1024.0);
        let minus = bits(-(1.0 + 2.0 / 1024.0));
        let two = Fp16Mac { fused: false, ..Fp16Mac::PAPER };
        assert_eq!(Fp16Mac::PAPER.step(minus, x, x), bits(2.0_f32.powi(-20)));
        assert_eq!(two.step(minus, x, x), 0);
    }

    #[test]
    fn fp32_keeps_what_fp16_loses() {
        let wide = Fp16Mac { accumulate: FloatFormat::Fp32, ..Fp16Mac::PAPER };
        // 2048 + 1 needs 12 bits.
        let acc = wide.step(wide.widen(bits(2048.0)), bits(1.0), bits(1.0));
        assert_eq!(acc, u64::from(2049.0_f32.to_bits()));
        assert_eq!(wide.narrow(acc), bits(2048.0));
        assert_eq!(Fp16Mac::PAPER.step(bits(2048.0), bits(1.0), bits(1.0)), bits(2048.0));
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// The product of two fp16 values is exact in fp32: f32's own arithmetic rounds once, in the addition.
        #[test]
        fn fp32_is_the_same_fused_or_not(a in any::<u16>(), b in any::<u16>(), acc in any::<u32>()) {
            let wide = Fp16Mac { accumulate: FloatFormat::Fp32, ..Fp16Mac::PAPER };
            let once = wide.step(acc.into(), a.into(), b.into());
            let twice = Fp16Mac { fused: false, ..wide }.step(acc.into(), a.into(), b.into());
            prop_assert_eq!(once, twice);
            let host = f16::from_bits(a).to_f32() * f16::from_bits(b).to_f32() + f32::from_bits(acc);
            if !host.is_nan() {
                prop_assert_eq!(once, u64::from(host.to_bits()));
            }
        }
    }
}
