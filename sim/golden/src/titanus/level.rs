//! One quantization level of one channel, in exact rational arithmetic.
//!
//! Titanus, sections 3.1 and 3.2. With L = 2^b - 1 steps over `range` from `lo` on, one step is range / L. Everything is an
//! integer or a ratio of integers; nothing is rounded but results, half up.

/// Range of values and zero point of a channel, from some token on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Lowest value.
    pub lo: i32,
    /// Highest value less the lowest, at least 2^bits - 1.
    pub range: i32,
    /// Width of a quantized value, 2 to 8.
    pub bits: u32,
}

/// `numerator / denominator` rounded to the nearest integer, half up. The denominator is positive.
fn round_half_up(numerator: i64, denominator: i64) -> i64 {
    (2 * numerator + denominator).div_euclid(2 * denominator)
}

impl Level {
    /// The level that spans `rmin` to `rmax`: a step below 1 would be finer than the integers.
    pub fn spanning(rmin: i32, rmax: i32, bits: u32) -> Self {
        assert!((2..=8).contains(&bits), "bits is {bits}, allowed: 2 to 8");
        let steps = (1 << bits) - 1;
        Self { lo: rmin, range: (rmax - rmin).max(steps), bits }
    }

    /// Number of steps, L.
    pub fn steps(self) -> i32 {
        (1 << self.bits) - 1
    }

    /// Highest value.
    pub fn hi(self) -> i32 {
        self.lo + self.range
    }

    /// The quantized value of `x`: (x - lo) L / range rounded half up, clamped to 0..=L.
    pub fn quantize(self, x: i32) -> u8 {
        let exact = round_half_up(i64::from(self.steps()) * i64::from(x - self.lo), self.range.into());
        exact.clamp(0, self.steps().into()) as u8
    }

    /// The quantized value that 0 would have without clamping; nine bits signed.
    pub fn zero_point(self) -> i32 {
        round_half_up(-i64::from(self.steps()) * i64::from(self.lo), self.range.into()) as i32
    }

    /// The value that `q` stands for: range (q - zero point) / L rounded half up, saturated to eight bits.
    pub fn dequantize(self, q: u8) -> i8 {
        dequantize(self.range, self.zero_point(), self.bits, q)
    }

    /// Whether `x` is within the tolerance range: half a step more than the level on both sides, ends included.
    pub fn tolerates(self, x: i32) -> bool {
        // x >= lo - range / 2L and x <= hi + range / 2L, times 2L.
        let l2 = 2 * self.steps();
        l2 * x >= l2 * self.lo - self.range && l2 * x <= l2 * self.hi() + self.range
    }

    /// The level that also holds `x`.
    pub fn extended(self, x: i32) -> Self {
        Self::spanning(self.lo.min(x), self.hi().max(x), self.bits)
    }
}

/// The value that `q` stands for, from what is stored of a level.
pub fn dequantize(range: i32, zero_point: i32, bits: u32, q: u8) -> i8 {
    let steps = (1i64 << bits) - 1;
    let exact = round_half_up(i64::from(range) * (i64::from(q) - i64::from(zero_point)), steps);
    exact.clamp(-128, 127) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // -10 to 20 in two bits: steps of 10.
        let level = Level::spanning(-10, 20, 2);
        assert_eq!((level.range, level.hi(), level.zero_point()), (30, 20, 1));
        assert_eq!([-10, -6, -5, 4, 5, 14, 15, 20].map(|x| level.quantize(x)), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!([0, 1, 2, 3].map(|q| level.dequantize(q)), [-10, 0, 10, 20]);
        // Half a step is tolerated, and no more.
        assert!(level.tolerates(-15) && level.tolerates(25) && !level.tolerates(-16) && !level.tolerates(26));
        assert_eq!(level.extended(26), Level { lo: -10, range: 36, bits: 2 });
        // All of one sign: the zero point leaves 0..=L.
        let positive = Level::spanning(100, 103, 2);
        assert_eq!((positive.zero_point(), positive.dequantize(0), positive.dequantize(3)), (-100, 100, 103));
        let negative = Level::spanning(-128, -128, 8);
        assert_eq!((negative.range, negative.zero_point(), negative.quantize(-128)), (255, 128, 0));
        // The widest level: a top beyond eight bits is kept when the level grows downwards.
        assert_eq!(Level::spanning(127, 127, 8).extended(-128).range, 510);
    }

    /// The quantizer against its definition by inequalities, for all inputs of a channel: all x, rmin, rmax and bits.
    /// Only x - lo and range count, so the hardware can be tested over differences.
    #[test]
    fn exact_rule_for_all_inputs() {
        for bits in 2..=8 {
            let steps = (1i64 << bits) - 1;
            for rmin in -128..=127 {
                // Results for lo = 0, which show that the rule depends on differences alone.
                for rmax in rmin..=127 {
                    let level = Level::spanning(rmin, rmax, bits);
                    let shifted = Level { lo: 0, ..level };
                    for x in -128..=127 {
                        let q = i64::from(level.quantize(x));
                        assert_eq!(q, i64::from(shifted.quantize(x - rmin)));
                        // 2 range q <= 2 L (x - lo) + range < 2 range (q + 1), up to the clamps.
                        let doubled = 2 * steps * i64::from(x - rmin) + i64::from(level.range);
                        let width = 2 * i64::from(level.range);
                        assert!(q == 0 || width * q <= doubled, "{level:?} {x}");
                        assert!(q == steps || doubled < width * (q + 1), "{level:?} {x}");
                    }
                }
            }
        }
    }

    /// At most one step and a half, for every value inside of the tolerance range.
    #[test]
    fn error_is_bounded_by_one_step() {
        for bits in 2..=8 {
            for rmin in (-128..=127).step_by(3) {
                for rmax in (rmin..=127).step_by(5) {
                    let level = Level::spanning(rmin, rmax, bits);
                    assert!((-128..=128).contains(&level.zero_point()), "{level:?}");
                    for x in (-128..=127).filter(|&x| level.tolerates(x)) {
                        let error = (i32::from(level.dequantize(level.quantize(x))) - x).abs();
                        // error <= range / L + 1/2, times 2L.
                        assert!(2 * level.steps() * error <= 2 * level.range + level.steps(), "{level:?} {x} {error}");
                    }
                }
            }
        }
    }
}
