//! Logistic function, GELU, tanh, SiLU and ReLU by the algorithm of `float_sigmoid` and `float_table`, in integers.
//!
//! The format has f bits of fraction. The magnitude of the operand becomes a multiple of 2^-(f + 3), rounded down. Then
//! there is a factor q of at most 1, which is a parabola over each of the segments of equal length. A parabola is
//! scaled so that it begins above 1/2. Its height, slope and curvature have 6 places more than the format. The height
//! is the value at the segment's begin, less than 1. The curvature is the second difference of begin, middle and end.
//! Both are rounded to nearest. The slope makes the parabola end at the next height. For positive operands 1 - q takes
//! the place of q (for the tangent: from 1 on). The result is q, or the operand times q, rounded once, upwards from the
//! middle. `ReLU` is the case in which q is 0, so that nothing is rounded.

use num_bigint::{BigInt, BigUint};

use super::between::Between;
use super::class::Class;
use super::exact::smallest;
use super::real::{Normal, PLACES, gelu_argument, logistic, tanh};
use super::{Float, Rounded};
use crate::common::row::{is_special, nearest, units};
use crate::format::FloatFormat;

/// A function of one float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// 1 / (1 + e^-x).
    Sigmoid,
    /// x times the normal distribution's probability of less than x.
    GeluErf,
    /// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
    GeluTanh,
    /// x / (1 + e^-x).
    Silu,
    /// Hyperbolic tangent.
    Tanh,
    /// The larger one of x and +0.
    Relu,
}

impl Function {
    /// Whether results have the sign of the operand.
    fn keeps_sign(self) -> bool {
        !matches!(self, Self::Sigmoid | Self::Relu)
    }
}

/// A parabola. Its value is still to be multiplied by 2^-scale.
#[derive(Clone, Copy, Debug)]
struct Segment {
    scale: u32,
    height: i64,
    slope: i64,
    curvature: i64,
}

/// The constants of a function in one format.
#[derive(Clone, Debug)]
pub struct FunctionTable {
    function: Function,
    format: FloatFormat,
    /// The factor is 0 from 2 to the power of this number on.
    range: u32,
    /// Segments have a length of 2 to the power of minus this number.
    length: u32,
    /// Places of a height.
    places: u32,
    segments: Vec<Segment>,
}

impl FunctionTable {
    /// The constants of `function` in `format`, which has at most 16 bits.
    #[must_use]
    pub fn new(function: Function, format: FloatFormat) -> Self {
        let (range, length) = match function {
            Function::Sigmoid | Function::Silu => match format {
                FloatFormat::Bf16 => (7, 1),
                FloatFormat::E5m2 => (4, 1),
                FloatFormat::E3m2 => (if function == Function::Silu { 3 } else { 2 }, 1),
                FloatFormat::Fp16 | FloatFormat::Fp32 => (5, 3),
            },
            Function::GeluErf | Function::GeluTanh => match format {
                FloatFormat::Bf16 => (4, 4),
                FloatFormat::E5m2 => (3, 2),
                FloatFormat::E3m2 => (2, 2),
                FloatFormat::Fp16 | FloatFormat::Fp32 => (3, 4),
            },
            Function::Tanh => match format {
                FloatFormat::Bf16 | FloatFormat::E5m2 => (2, 2),
                FloatFormat::E3m2 => (1, 2),
                FloatFormat::Fp16 | FloatFormat::Fp32 => (3, 3),
            },
            Function::Relu => (0, 0),
        };
        let places = format.fraction_bits() + 6;
        let mut table = Self { function, format, range, length, places, segments: vec![] };
        table.segments = table.compute();
        table
    }

    fn compute(&self) -> Vec<Segment> {
        let normal = Normal::new();
        let one = BigInt::from(1) << PLACES;
        let factor = |t: &BigInt, inner: bool| match self.function {
            Function::Sigmoid | Function::Silu => logistic(&-t),
            Function::GeluErf => normal.below(&-t),
            Function::GeluTanh => logistic(&-gelu_argument(&normal, t)),
            Function::Tanh if *t == BigInt::ZERO => one.clone(),
            Function::Tanh if inner => (tanh(t) << PLACES) / t,
            Function::Tanh => &one - tanh(t),
            Function::Relu => BigInt::ZERO,
        };
        // The product is less than a quarter of the smallest number, whatever the operand.
        let products = if self.function == Function::Sigmoid { 0 } else { self.range };
        let least = BigInt::from(1) << (PLACES - smallest(self.format) - 2 - products);
        let count = 1u32 << (self.range + self.length);
        let segment = |number: u32| {
            let inner = number < 1 << self.length;
            let [begin, middle, end] =
                [0, 1, 2].map(|k| factor(&((&one * (2 * number + k)) >> (self.length + 1)), inner));
            if begin < least {
                return Segment { scale: 0, height: 0, slope: 0, curvature: 0 };
            }
            // A power of two is not above itself.
            let below: BigInt = &begin - 1;
            let scale = PLACES - u32::try_from(below.bits()).unwrap_or(0);
            let rounded = |value: &BigInt, places: u32| {
                let doubled: BigInt = value >> (PLACES - places - scale - 1);
                i64::try_from((doubled + 1) >> 1).unwrap_or(i64::MAX)
            };
            // Less than 1.
            let height = rounded(&begin, self.places).min((1 << self.places) - 1);
            let end_height = rounded(&end, self.places);
            // In units that are four times as large.
            let second: BigInt = (&begin - &middle * 2 + &end) * 2;
            let curvature = rounded(&second, self.places - 2);
            let low = self.low_bits();
            let missing = if low > 8 { (4 * curvature) >> 9 } else { 0 };
            Segment { scale, height, slope: height - end_height + 4 * curvature - missing, curvature }
        };
        (0..count).map(segment).collect()
    }

    fn low_bits(&self) -> u32 {
        self.format.fraction_bits() + 3 - self.length
    }

    /// The factor of a magnitude in units of 2^-(f + 3), scaled, and its scale.
    fn factor(&self, magnitude: u64) -> (i64, u32) {
        let low_bits = self.low_bits();
        let low = (magnitude % (1 << low_bits)) as i64;
        let Segment { scale, height, slope, curvature } = self.segments[(magnitude >> low_bits) as usize];
        let bent = low_bits.min(8);
        let steepness = slope - ((4 * curvature * (low >> (low_bits - bent))) >> bent);
        (height - ((steepness * low) >> low_bits), scale)
    }

    /// What a number is multiplied by, and its scale, from the number's magnitude in units of 2^-(f + 3); `None`: beyond
    /// all segments. Also whether it is the result itself.
    fn multiplier(&self, magnitude: Option<u64>, (negative, above_one): (bool, bool)) -> (u64, u32, bool) {
        let places = self.format.fraction_bits() + 3;
        let inside = magnitude.filter(|magnitude| magnitude >> (self.range + places) == 0);
        let (factor, scale) = inside.map_or((0, 0), |magnitude| self.factor(magnitude));
        let (rest, bare) = match self.function {
            Function::Sigmoid => (!negative, true),
            Function::Tanh => (above_one, above_one),
            _ => (!negative, false),
        };
        let (factor, scale) = if rest { ((1 << self.places) - (factor >> scale.min(63)), 0) } else { (factor, scale) };
        (factor.unsigned_abs(), scale, bare)
    }

    /// The function of an fp16 number, without exceptions.
    ///
    /// # Panics
    /// The table is of another format.
    #[must_use]
    pub fn apply_to_half(&self, a: u16) -> u16 {
        assert_eq!(self.format, FloatFormat::Fp16, "the format of the table");
        let (negative, magnitude) = units(a);
        if is_special(a) || magnitude == 0 {
            return self.apply(Float::ieee(self.format), a.into()).bits as u16;
        }
        let unit = smallest(self.format);
        let in_segments = magnitude << (self.format.fraction_bits() + 3) >> unit;
        let (factor, scale, bare) = self.multiplier(Some(in_segments), (negative, magnitude >> unit > 0));
        let product = u128::from(factor) * if bare { 1 << unit } else { magnitude.into() };
        // The value is above this product, by less than 1: a half makes it round in the same way.
        let exponent = -i64::from(unit + self.places + scale) - 1;
        nearest(negative && self.function.keeps_sign(), 2 * product + 1, exponent)
    }

    /// The function of a.
    #[must_use]
    pub fn apply(&self, float: Float, a: u64) -> Rounded {
        let (format, negative) = (self.format, float.is_negative(a));
        let minus = negative && self.function.keeps_sign();
        let one = float.from_int(1).bits;
        let units = match float.class(a) {
            Class::Nan => return float.nan_of(&[a]),
            Class::Infinity => {
                let bits = match (self.function, negative) {
                    (Function::Sigmoid, true) => 0,
                    (Function::Sigmoid, false) => one,
                    (Function::Tanh, _) => format.zero(negative) | one,
                    (_, true) => format.zero(self.function.keeps_sign()),
                    (_, false) => format.infinity(false),
                };
                return Float::plain(bits);
            }
            // One half is one less in the exponent.
            Class::Zero if self.function == Function::Sigmoid => {
                return Float::plain(one - (1 << format.fraction_bits()));
            }
            Class::Zero => return Float::plain(format.zero(minus)),
            Class::Number(units) => units,
        };
        let places = format.fraction_bits() + 3;
        let magnitude = (&units << places) >> smallest(format);
        let above_one = units.bits() > u64::from(smallest(format));
        let (factor, scale, bare) = self.multiplier(u64::try_from(&magnitude).ok(), (negative, above_one));
        let factor = BigUint::from(factor);
        let product = if bare { factor << smallest(format) } else { factor * units };
        let value = Between {
            units: product,
            scale: smallest(format) + self.places + scale,
            more: self.function != Function::Relu,
        };
        float.nearest(minus, &value)
    }
}
