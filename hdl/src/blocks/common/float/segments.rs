//! Smooth factors between 0 and 1, by parabolas over segments of equal length.
//!
//! The magnitude of the operand is taken as a fixed-point number; the bits that are cut off do not matter. Its highest
//! bits find a scale, a height, a slope and a curvature in a table: 2^-scale (height - low (slope - curvature low)).
//! Height, slope and curvature describe the parabola through the exact values at both ends and in the middle of the
//! segment. They are computed to many places when the unit is elaborated. The slope is then adjusted so that the
//! parabola ends where the next one begins.

use num_bigint::{BigInt, BigUint};

use super::format::FloatFormat;
use super::parts::Parts;
use super::ranks::Ranks;
use super::reals::{PLACES, Real, gelu_argument, logistic_below, normal_below, over, ratio, tanh_ratio};
use super::rom::look_up;
use super::round::Operand;
use crate::lang::{Module, Signal, bits_for, mux, uint};

/// A factor as a function of a magnitude t.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    /// The logistic function of -t.
    Logistic,
    /// The logistic function of -t, as a factor of t.
    LogisticTimes,
    /// The normal distribution's probability of less than -t.
    Normal,
    /// Its approximation by a hyperbolic tangent.
    NormalByTanh,
    /// Below 1, the hyperbolic tangent of t divided by t; from 1 on, 1 less the tangent.
    Tanh,
}

/// How fine the segments and the numbers in the table are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Magnitudes are below 2 to the power of this; from there on the factor is 0.
    pub range: u32,
    /// Segments are 2 to the power of minus this long.
    pub segment: u32,
    /// Places of a magnitude after the point.
    pub places: u32,
    /// Places of a factor below its scale.
    pub height: u32,
}

/// Lowest places of a curvature that are left out.
const COARSE: u32 = 2;
/// Bits of `low` that a curvature is multiplied by, at most.
const BENT: u32 = 8;

impl Factor {
    pub(super) fn grid(self, format: FloatFormat) -> Grid {
        use FloatFormat::{Bf16, E3m2, E5m2, Fp16, Fp32};
        // (range, segment)
        let (range, segment) = match (self, format) {
            (Self::Logistic | Self::LogisticTimes, Fp16 | Fp32) => (5, 3),
            (Self::Logistic | Self::LogisticTimes, Bf16) => (7, 1),
            (Self::Logistic | Self::LogisticTimes, E5m2) => (4, 1),
            (Self::Logistic, E3m2) => (2, 1),
            (Self::LogisticTimes, E3m2) => (3, 1),
            (Self::Normal | Self::NormalByTanh, Fp16 | Fp32) => (3, 4),
            (Self::Normal | Self::NormalByTanh, Bf16) => (4, 4),
            (Self::Normal | Self::NormalByTanh, E5m2) => (3, 2),
            (Self::Normal | Self::NormalByTanh, E3m2) => (2, 2),
            (Self::Tanh, Fp16 | Fp32) => (3, 3),
            (Self::Tanh, Bf16 | E5m2) => (2, 2),
            (Self::Tanh, E3m2) => (1, 2),
        };
        let f = format.fraction_bits();
        Grid { range, segment, places: f + 3, height: f + 6 }
    }

    /// The value at t; at a jump, `from_below` chooses the value just below it.
    fn value(self, t: &Real, from_below: bool) -> Real {
        let one = ratio(1, 1);
        match self {
            Self::Logistic | Self::LogisticTimes => logistic_below(t),
            Self::Normal => normal_below(t),
            Self::NormalByTanh => logistic_below(&gelu_argument(t)),
            Self::Tanh if *t < one || (from_below && *t == one) => tanh_ratio(t),
            Self::Tanh => logistic_below(&(t * 2u8)) * 2u8,
        }
    }

    /// Values below this give no result, whatever they are multiplied by: a quarter of the smallest number.
    fn least(self, format: FloatFormat, grid: Grid) -> Real {
        let smallest = format.bias() - 1 + format.fraction_bits();
        let more = if self == Self::Logistic { 2 } else { 2 + grid.range };
        over(&ratio(1, 1), &(ratio(1, 1) << (smallest + more)))
    }
}

/// A line of the table.
#[derive(Clone, Copy, Debug, Default)]
struct Parabola {
    scale: u32,
    height: i64,
    slope: i64,
    curvature: i64,
}

/// The table, up to the first segment from which on all is zero.
fn table(factor: Factor, format: FloatFormat) -> Vec<Parabola> {
    let grid = factor.grid(format);
    let least = factor.least(format, grid);
    let at = |half: u64, from_below| factor.value(&ratio(half, 2 << grid.segment), from_below);
    let mut lines = Vec::new();
    let mut begin = at(0, false);
    for segment in 0..1u64 << (grid.range + grid.segment) {
        if begin < least {
            break;
        }
        let (middle, end) = (at(2 * segment + 1, false), at(2 * segment + 2, true));
        lines.push(parabola(grid, &begin, &middle, &end));
        begin = at(2 * segment + 2, false);
    }
    lines
}

fn parabola(grid: Grid, begin: &Real, middle: &Real, end: &Real) -> Parabola {
    // The least scale that brings the largest value above one half.
    let half = u64::from(PLACES) - 1;
    let scale = (0u32..).find(|scale| begin << scale > (BigUint::from(1u8) << half)).unwrap_or(0);
    // In units of the height, to nearest.
    let below = PLACES - grid.height - scale;
    let nearest =
        |value: BigInt, below: u32| i64::try_from((value + (BigInt::from(1) << (below - 1))) >> below).unwrap_or(0);
    let [begin, middle, end] = [begin, middle, end].map(|value| BigInt::from(value.clone()));
    let curvature = nearest((&begin - middle * 2 + &end) * 2, below + COARSE);
    // Never quite 1: a value next to a number, or next to the middle of two, is then on the right side of it.
    let (height, end) = (nearest(begin, below).min((1 << grid.height) - 1), nearest(end, below));
    let bend = curvature << COARSE;
    let low = grid.places - grid.segment;
    // Half of the error where not all bits are multiplied.
    let missing = if low > BENT { bend >> (BENT + 1) } else { 0 };
    Parabola { scale, height, slope: height - end + bend - missing, curvature }
}

/// A factor 2^-scale * value, the value with [`Grid::height`] places.
pub(super) struct Value {
    pub value: Signal,
    pub scale: Signal,
}

/// The factor of a number with exponent field and significand `a`. There are nine places for registers.
pub(super) fn factor(m: &mut Module, pipe: &mut Ranks, a: &Operand, factor: Factor, format: FloatFormat) -> Value {
    let grid = factor.grid(format);
    let lines = table(factor, format);
    let e = format.exponent_bits();

    m.comment("The magnitude as a fixed-point number.");
    let width = grid.range + grid.places;
    let top = format.bias() + grid.range - 1;
    let distance = m.wire("distance", uint(e).lit(top).wrapping_sub(a.exponent));
    let whole = a.significand.shl(width - a.significand.width());
    let huge = m.wire("huge", a.exponent.gt(top));
    let magnitude = m.wire("magnitude", whole.shr_by(distance));
    let low_bits = grid.places - grid.segment;
    // A number that is too large finds the last line, whose value is 0.
    let last = lines.len() < 1 << (width - low_bits);
    let index = magnitude.slice(low_bits..width);
    let mut index = m.wire("segment", if last { index | huge.repeat(index.width()) } else { index });
    let mut low = m.wire("low", magnitude.slice(0..low_bits));
    let mut huge = Some(huge).filter(|_| !last);
    let data = [("segment", &mut index), ("low", &mut low)];
    pipe.cut(m, data.into_iter().chain(huge.as_mut().map(|huge| ("huge", huge))));

    m.comment("The parabola of the segment: scale, height, slope, curvature.");
    let bits = |most: i64| bits_for(most.unsigned_abs());
    let most = |of: fn(&Parabola) -> i64| lines.iter().map(of).max().unwrap_or(0);
    let least = lines.iter().map(|line| line.curvature).min().unwrap_or(0);
    let bent = most(|line| line.curvature);
    let signed = least < 0;
    let (scale_width, height_width) = (bits(most(|line| line.scale.into())), grid.height + 1);
    // A slope may grow within a segment where the curvature is negative.
    let slope_width = bits(most(|line| line.slope.max(line.slope - (line.curvature << COARSE))));
    let curvature_width = if signed { 1 + bits(bent).max(bits(-1 - least)) } else { bits(bent) };
    let total = curvature_width + slope_width + height_width + scale_width;
    let word = |line: &Parabola| {
        let fields = [
            (i64::from(line.scale), scale_width),
            (line.height, height_width),
            (line.slope, slope_width),
            (line.curvature & ((1 << curvature_width) - 1), curvature_width),
        ];
        fields.iter().fold(0, |word, (value, width)| word << width | value.unsigned_abs())
    };
    let mut words: Vec<u64> = lines.iter().map(word).collect();
    if last {
        words.push(word(&Parabola::default()));
    }
    let mut chosen = look_up(m, "parabola", index, &words, total);
    if let Some(huge) = huge {
        low = m.wire("kept_low", low & !huge.repeat(low_bits));
    }
    let data = [("parabola", &mut chosen.varying), ("low", &mut low)];
    pipe.cut(m, data.into_iter().chain(huge.as_mut().map(|huge| ("huge", huge))));
    let chosen = m.wire("chosen", chosen.whole());
    let from = |from: u32, width: u32| chosen.slice(from..from + width);
    let curvature = m.wire("curvature", from(0, curvature_width));
    let mut slope = m.wire("slope", from(curvature_width, slope_width));
    let mut height = m.wire("height", from(curvature_width + slope_width, height_width));
    let mut scale = m.wire("scale", from(curvature_width + slope_width + height_width, scale_width));
    if let Some(huge) = huge {
        // Not in front of the registers: they would no longer be registers of a table, and Yosys would move the table.
        height = m.wire("kept_height", height & !huge.repeat(height_width));
        scale = m.wire("kept_scale", scale & !huge.repeat(scale_width));
    }

    m.comment("Its steepness so far, and its height there.");
    let bent_bits = low_bits.min(BENT);
    let part = low.slice(low_bits - bent_bits..low_bits);
    let curvature = if signed { curvature.as_sint() } else { curvature };
    let mut bend = Parts::new(m, pipe, "bend", (curvature, part), 1);
    let data = [("slope", &mut slope), ("height", &mut height), ("scale", &mut scale), ("low", &mut low)];
    bend.cut(m, pipe, data);
    let bend = bend.whole();
    let units = bend.extend(bend.width().max(slope_width + bent_bits)).shl(COARSE);
    let mut units = m.wire("bend_units", units.slice(bent_bits..bent_bits + slope_width));
    m.unused(bend);
    let data = [
        ("bend_units", &mut units),
        ("slope", &mut slope),
        ("height", &mut height),
        ("scale", &mut scale),
        ("low", &mut low),
    ];
    pipe.cut(m, data);
    let mut steepness = m.wire("steepness", slope.wrapping_sub(units));
    let data = [("steepness", &mut steepness), ("height", &mut height), ("scale", &mut scale), ("low", &mut low)];
    pipe.cut(m, data);

    let mut fall = Parts::new(m, pipe, "fall", (steepness, low), 2);
    for _ in 0..2 {
        fall.cut(m, pipe, [("height", &mut height), ("scale", &mut scale)]);
    }
    let fall = fall.whole();
    let mut whole = m.wire("whole_fall", fall.slice(low_bits..low_bits + slope_width));
    m.unused(fall);
    pipe.cut(m, [("whole_fall", &mut whole), ("height", &mut height), ("scale", &mut scale)]);
    let mut value = m.wire("value", height.wrapping_sub(whole.extend(height_width)));
    pipe.cut(m, [("value", &mut value), ("scale", &mut scale)]);
    Value { value, scale }
}

impl Value {
    /// 1 less the value where `flip` is high.
    pub(super) fn flipped(&self, m: &mut Module, flip: Signal) -> Self {
        let width = self.value.width();
        let small = m.wire("small_part", self.value.shr_by(self.scale));
        let rest = m.wire("rest", uint(width).lit(1u64 << (width - 1)).wrapping_sub(small));
        let value = m.wire("factor", mux(flip, rest, self.value));
        let scale = m.wire("factor_scale", self.scale & (!flip).repeat(self.scale.width()));
        Self { value, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases that the hardware leaves out do not happen: values never fall below 0, and slopes never change sign.
    #[test]
    fn parabolas_fall() {
        for format in [FloatFormat::Fp16, FloatFormat::Bf16, FloatFormat::E5m2, FloatFormat::E3m2] {
            for of in [Factor::Logistic, Factor::LogisticTimes, Factor::Normal, Factor::NormalByTanh, Factor::Tanh] {
                let grid = of.grid(format);
                let low_bits = grid.places - grid.segment;
                let bent = low_bits.min(BENT);
                for line in table(of, format) {
                    assert!(
                        line.height < 1 << grid.height && line.slope >= 0,
                        "{format:?} {of:?}: {line:?} of {grid:?}"
                    );
                    for low in 0..1i64 << low_bits {
                        let steepness =
                            line.slope - (((line.curvature << COARSE) * (low >> (low_bits - bent))) >> bent);
                        let fall = (steepness * low) >> low_bits;
                        let good = steepness >= 0 && (0..=line.height).contains(&fall);
                        assert!(good, "{format:?} {of:?}: {line:?} of {grid:?} at {low}");
                    }
                }
            }
        }
    }
}
