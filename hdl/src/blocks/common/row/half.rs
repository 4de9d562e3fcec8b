//! fp16 numbers taken apart, and integers rounded to them.

use super::normaliser::{normalise, normalise_latency};
use super::pipe::later;
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Signal, Timing, bit, cat, mux, parameters, ports, sint, uint,
};

/// An fp16 number taken apart: (-1)^sign * significand * 2^(scale - 25).
#[derive(Clone, Copy, Debug)]
pub struct Half {
    /// Negative.
    pub sign: Signal,
    /// Leading bit and fraction: 11 bits.
    pub significand: Signal,
    /// Exponent field; 1 for subnormal numbers.
    pub scale: Signal,
    /// Infinity or NaN.
    pub special: Signal,
    /// NaN.
    pub nan: Signal,
}

impl Half {
    /// Takes `bits` apart; `name` begins the names of wires.
    #[track_caller]
    pub fn new(m: &mut Module, name: &str, bits: Signal) -> Self {
        let (field, fraction) = (bits.slice(10..15), bits.slice(0..10));
        let normal = m.wire(&format!("{name}_normal"), field.any());
        let special = m.wire(&format!("{name}_special"), field.all());
        Self {
            sign: bits.msb(),
            significand: m.wire(&format!("{name}_significand"), cat(&[normal, fraction])),
            scale: m.wire(&format!("{name}_scale"), cat(&[field.slice(1..5), field.bit(0) | !normal])),
            special,
            nan: m.wire(&format!("{name}_nan"), special & fraction.any()),
        }
    }
}

/// (-1)^sign * magnitude * 2^exponent, or something special.
#[derive(Clone, Copy, Debug)]
pub struct ToRound {
    /// Negative.
    pub sign: Signal,
    /// Integer.
    pub magnitude: Signal,
    /// Signed.
    pub exponent: Signal,
    /// It is an infinity, whatever the magnitude.
    pub infinite: Signal,
    /// It is a NaN, whatever the rest.
    pub nan: Signal,
}

/// The fp16 number nearest to `value`, ties to even, with subnormal numbers; infinity where it is too large. Every NaN
/// is 0x7e00. [`round_latency`] cycles later.
#[track_caller]
pub fn round_to_half(m: &mut Module, name: &str, value: ToRound) -> Signal {
    let (width, exponent_width) = (value.magnitude.width(), value.exponent.width());
    let u = m.instance(&format!("u_{name}"), RoundHalf { width, exponent_width });
    m.connect(u.sign_i, value.sign);
    m.connect(u.magnitude_i, value.magnitude);
    m.connect(u.exponent_i, value.exponent);
    m.connect(u.infinite_i, value.infinite);
    m.connect(u.nan_i, value.nan);
    u.y_o
}

/// Cycles of [`round_to_half`] for a magnitude of `width` bits.
#[must_use]
pub fn round_latency(width: u32) -> u32 {
    normalise_latency(width) + 3
}

parameters! {
    /// Elaboration parameters.
    pub struct RoundHalf {
        /// Bits of the magnitude.
        width: u32 = 29, in 14..=128, tag "w";
        /// Bits of the exponent.
        exponent_width: u32 = 11, in 8..=32, tag "e";
    }
}

ports! {
    /// Ports of [`RoundHalf`].
    pub struct RoundHalfPorts(p: &RoundHalf) {
        /// Negative.
        sign_i: In = bit(),
        /// Integer.
        magnitude_i: In = uint(p.width),
        /// The number is magnitude_i * 2^exponent_i.
        exponent_i: In = sint(p.exponent_width),
        /// It is an infinity, whatever the magnitude.
        infinite_i: In = bit(),
        /// It is a NaN, whatever the rest.
        nan_i: In = bit(),
        /// fp16.
        y_o: Out = uint(16),
    }
}

impl Block for RoundHalf {
    type Ports = RoundHalfPorts;
    const ABOUT: About = About {
        name: "round_half",
        summary: "rounds an integer times a power of two to fp16",
        contract: "y_o = (-1)^sign_i * magnitude_i * 2^exponent_i of `latency` cycles ago to nearest, ties to even, with subnormal numbers;\n\
            infinity where that is too large; every NaN is 0x7e00.",
        reference: "IEEE 754, section 4.3.1",
    };

    fn build(&self, m: &mut Module, io: &RoundHalfPorts) {
        let width = self.width;
        let first = normalise_latency(width);
        let (top, count) = normalise(m, "normal", io.magnitude_i);

        // The exponent field without limits, for 1.x at the top; and the places by which a smaller number is shifted
        // right.
        let wide = self.exponent_width + 2;
        let offset = i64::from(width - 1 + 15);
        let biased = io.exponent_i.extend(wide).wrapping_add(sint(wide).lit(offset)).as_uint();
        let biased = later(m, "biased", biased, first - 1);
        let (places, biased) = (later(m, "less_one", biased.wrapping_sub(1), 1), later(m, "exponent", biased, 1));
        let field = m.wire("field", biased.wrapping_sub(count.extend(wide)).as_sint());
        let low = m.wire("low", field.msb() | !field.any());
        let window = 13;
        let rest = top.slice(0..width - window).any();
        let kept = m.wire("kept", cat(&[top.slice(width - window..width), rest]));
        let places = m.wire("places", count.extend(wide).wrapping_sub(places));
        // A shift by more than 15 leaves only the sticky bit.
        let far = places.slice(4..wide).any();
        let amount = (places.slice(0..4) | far.repeat(4)) & low.repeat(4);
        let large = field.slice(5..wide - 1).any() | field.slice(0..5).all();
        let large = m.wire("too_large", !field.msb() & large);
        let (amount, kept) = (later(m, "amount", amount, 1), later(m, "kept_placed", kept, 1));
        let large = later(m, "large_placed", large, 1);
        let field = later(m, "field_placed", field.as_uint().slice(0..5) & (!low).repeat(5), 1);

        // Into place: leading bit, 10 bits of fraction, guard bit, and two places that only go into the sticky bit.
        let (mut placed, mut lost) = (kept, bit().lit(0));
        for k in 0..4 {
            let (step, take) = (1 << k, amount.bit(k));
            lost = lost | (take & placed.slice(0..step).any());
            let moved = cat(&[uint(step).lit(0), placed.slice(step..14)]);
            placed = m.wire(&format!("right_{step}"), mux(take, moved, placed));
        }
        let sticky = later(m, "sticky", lost | placed.slice(0..2).any(), 1);
        let (placed, field) = (later(m, "placed", placed.slice(2..14), 1), later(m, "field_last", field, 1));
        let large = later(m, "large_last", large, 1);

        let all = first + 2;
        let sign = later(m, "sign", io.sign_i, all);
        let nan = later(m, "nan", io.nan_i, all);
        let infinite = later(m, "infinite", io.infinite_i, all);
        // Zero and subnormal numbers have no leading bit, and 0 as exponent field.
        let field = field & placed.msb().repeat(5);
        let up = placed.bit(0) & (placed.bit(1) | sticky);
        let rounded = m.wire("rounded", cat(&[field, placed.slice(1..11)]).wrapping_add(up));
        let over = m.wire("over", infinite | (large & placed.msb()) | rounded.slice(10..15).all());
        let number = rounded.slice(0..10) & (!over).repeat(10);
        let bits = cat(&[sign & !nan, rounded.slice(10..15) | (over | nan).repeat(5), number]);
        let result = mux(nan, uint(16).lit(0x7e00), bits);
        let result = later(m, "result", result, 1);
        m.connect(io.y_o, result);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(round_latency(self.width))
    }
}

impl CatalogBlock for RoundHalf {
    fn configurations() -> Vec<Self> {
        let set = |width, exponent_width| Self { width, exponent_width };
        vec![set(14, 8), set(40, 11), set(35, 9), set(128, 32)]
    }
}
