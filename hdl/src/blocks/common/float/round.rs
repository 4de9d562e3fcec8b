//! The beginning and the end of every unit: taking operands apart, rounding, special results.

use super::exceptions::{Exception, FloatFlags};
use super::format::{FloatFormat, RoundingDirection, Subnormals};
use super::ranks::Ranks;
use crate::lang::{Module, Signal, bit, cat};

/// The kind of an operand's value.
pub(super) struct Class {
    /// Infinity or NaN.
    pub special: Signal,
    /// NaN.
    pub nan: Signal,
    /// Zero, or flushed.
    pub zero: Signal,
}

/// The magnitude of an operand, taken apart.
pub(super) struct Operand {
    /// Exponent field; 1 for subnormal numbers, which have the scale of the smallest normal numbers.
    pub exponent: Signal,
    /// Leading bit and fraction. A flushed subnormal number is 0.
    pub significand: Signal,
    /// Infinity or NaN.
    pub special: Signal,
    /// NaN.
    pub nan: Signal,
    /// Zero, or flushed.
    pub zero: Signal,
    /// A signalling NaN: a NaN without the top bit of its fraction.
    pub signalling: Signal,
}

/// Parts of a number.
struct Fields {
    /// Exponent field.
    exponent: Signal,
    fraction: Signal,
    /// The number is normal or special.
    normal: Signal,
}

/// The parts as wires whose names begin with `name`.
fn fields(m: &mut Module, name: &str, bits: Signal, format: FloatFormat) -> Fields {
    let f = format.fraction_bits();
    let exponent = m.wire(&format!("{name}_field"), bits.slice(f..format.width() - 1));
    let fraction = m.wire(&format!("{name}_fraction"), bits.slice(0..f));
    Fields { exponent, fraction, normal: m.wire(&format!("{name}_normal"), exponent.any()) }
}

fn class(m: &mut Module, name: &str, fields: &Fields, subnormals: Subnormals) -> Class {
    let Fields { exponent, fraction, normal } = *fields;
    let special = m.wire(&format!("{name}_special"), exponent.all());
    let zero = match subnormals {
        Subnormals::Ieee => !(normal | fraction.any()),
        Subnormals::Flush => !normal,
    };
    Class { special, nan: special & fraction.any(), zero }
}

impl Class {
    /// Looks at a number; `name` begins the names of the wires.
    pub(super) fn new(m: &mut Module, name: &str, bits: Signal, format: FloatFormat, subnormals: Subnormals) -> Self {
        let fields = fields(m, name, bits, format);
        class(m, name, &fields, subnormals)
    }
}

impl Operand {
    /// Takes a number apart, whether `bits` has a sign at its top or not; `name` begins the names of the wires.
    pub(super) fn new(m: &mut Module, name: &str, bits: Signal, format: FloatFormat, subnormals: Subnormals) -> Self {
        let fields = fields(m, name, bits, format);
        let Class { special, nan, zero } = class(m, name, &fields, subnormals);
        let Fields { exponent, fraction, normal } = fields;
        let kept = match subnormals {
            Subnormals::Ieee => fraction,
            Subnormals::Flush => fraction & normal.repeat(fraction.width()),
        };
        let significand = m.wire(&format!("{name}_significand"), cat(&[normal, kept]));
        let signalling = is_signalling(bits, format);
        Self { exponent: scale(exponent), significand, special, nan, zero, signalling }
    }
}

/// An exponent field, but 1 for subnormal numbers, which have the scale of the smallest normal ones.
pub(super) fn scale(field: Signal) -> Signal {
    cat(&[field.slice(1..field.width()), field.bit(0) | !field.any()])
}

/// Whether `bits` is a signalling NaN: a NaN without the top bit of its fraction.
pub(super) fn is_signalling(bits: Signal, format: FloatFormat) -> Signal {
    let f = format.fraction_bits();
    bits.slice(f..format.width() - 1).all() & !bits.bit(f - 1) & bits.slice(0..f - 1).any()
}

/// A result before its last step.
pub(super) struct Unrounded {
    /// Sign, of special results too.
    pub sign: Signal,
    /// Exponent field, or more: at least all ones where the result is too large. 0 where the exact magnitude is less
    /// than the smallest normal number. It is 0 as well where `up` still has to add the unit that makes the magnitude
    /// exactly this number.
    pub exponent: Signal,
    /// Fraction.
    pub fraction: Signal,
    /// The magnitude is rounded up.
    pub up: Signal,
    /// Something is lost by rounding.
    pub inexact: Signal,
    /// The result is an infinity or a NaN because of its operands.
    pub special: Signal,
    /// The result is a NaN.
    pub nan: Signal,
    /// How a result that is too large is replaced.
    pub too_large: TooLarge,
}

/// How a finite result that is too large for the format is replaced.
#[derive(Clone, Copy)]
pub(super) enum TooLarge {
    /// There is none.
    Never,
    /// An infinity.
    Infinity,
    /// The largest number of its sign where this is high, else an infinity.
    Largest(Signal),
}

impl TooLarge {
    /// The effect of a direction of rounding on a result with this sign.
    pub(super) fn rounded(direction: RoundingDirection, sign: Signal) -> Self {
        match direction {
            RoundingDirection::NearestEven | RoundingDirection::NearestAway => Self::Infinity,
            RoundingDirection::TowardZero => Self::Largest(bit().lit(1)),
            RoundingDirection::Down => Self::Largest(!sign),
            RoundingDirection::Up => Self::Largest(sign),
        }
    }
}

/// The bits below the last place that is kept.
pub(super) struct Remainder {
    /// The place below.
    pub half: Signal,
    /// There are ones below that place.
    pub more: Signal,
    /// The last place that is kept.
    pub odd: Signal,
}

impl Remainder {
    /// Whether the magnitude of a number with this sign becomes one unit larger.
    pub(super) fn rounds_up(&self, direction: RoundingDirection, sign: Signal) -> Signal {
        match direction {
            RoundingDirection::NearestEven => self.half & (self.more | self.odd),
            RoundingDirection::NearestAway => self.half,
            RoundingDirection::TowardZero => bit().lit(0),
            RoundingDirection::Down => sign & (self.half | self.more),
            RoundingDirection::Up => !sign & (self.half | self.more),
        }
    }
}

/// A result and its exceptions.
struct Rounded {
    bits: Signal,
    overflow: Signal,
    underflow: Signal,
    inexact: Signal,
}

impl Unrounded {
    /// The end of a unit: connects the rounded number and the exceptions. Some were raised on the way.
    pub(super) fn finish(
        &self,
        m: &mut Module,
        pipe: &Ranks,
        (format, subnormals): (FloatFormat, Subnormals),
        (result_o, flags): (Signal, &FloatFlags),
    ) {
        let result = round(m, self, format, subnormals);
        m.connect(result_o, result.bits);
        flags.connect(m, |exception| match exception {
            Exception::Invalid | Exception::DivisionByZero => pipe.raised(exception),
            Exception::Overflow => result.overflow,
            Exception::Underflow => result.underflow,
            Exception::Inexact => result.inexact,
        });
    }
}

/// Rounds and puts together. Exponent and fraction are added to as one number, so a fraction that overflows carries
/// into the exponent: from the largest subnormal number to the smallest normal one, from the largest number to
/// infinity.
fn round(m: &mut Module, r: &Unrounded, format: FloatFormat, subnormals: Subnormals) -> Rounded {
    let (e, f) = (format.exponent_bits(), format.fraction_bits());
    let field = r.exponent.slice(0..e);
    let above = if r.exponent.width() > e { Some(r.exponent.slice(e..r.exponent.width()).any()) } else { None };
    let too_large = above.map_or(field.all(), |above| field.all() | above);
    let too_large = match r.too_large {
        TooLarge::Never => bit().lit(0),
        TooLarge::Infinity | TooLarge::Largest(_) => too_large,
    };
    let rounded = m.wire("rounded", cat(&[field, r.fraction]).wrapping_add(r.up));
    // No exponent after rounding, from what is known before.
    let small = !(field.any() | (r.fraction.all() & r.up));
    let infinite = m.wire("infinite", too_large | r.special);
    let clear = match subnormals {
        Subnormals::Ieee => infinite,
        Subnormals::Flush => infinite | small,
    };
    let mut fraction = rounded.slice(0..f) & !clear.repeat(f);
    let mut exponent = rounded.slice(f..e + f) | infinite.repeat(e);
    let mut overflow = exponent.all();
    if let TooLarge::Largest(applies) = r.too_large {
        // A result that rounding up makes infinite stays infinite: then the direction is away from zero.
        let largest = m.wire("largest", too_large & !r.special & applies);
        overflow = overflow | too_large;
        fraction = fraction | largest.repeat(f);
        exponent = cat(&[exponent.slice(1..e), exponent.bit(0) & !largest]);
    }
    let top = fraction.bit(f - 1) | r.nan;
    let bits = cat(&[r.sign & !r.nan, exponent, top, fraction.slice(0..f - 1)]);
    let overflow = !r.special & overflow;
    let overflow = if let TooLarge::Largest(_) = r.too_large { m.wire("overflow", overflow) } else { overflow };
    // Not read without flags.
    m.unused(overflow);
    let lost = match subnormals {
        Subnormals::Ieee => r.inexact,
        Subnormals::Flush => r.inexact | (small & rounded.slice(0..f).any()),
    };
    Rounded {
        bits: m.wire("result", bits),
        overflow,
        // Tininess is detected before rounding: a result that is rounded up to the smallest normal number underflows
        // too.
        underflow: !r.special & !field.any() & !too_large & lost,
        // An integer that is a power of two may become infinity only by its missing unit: it is exact until then.
        inexact: (!r.special & lost) | overflow,
    }
}
