//! Units for one element: its square, and the product with the row's factor.

use super::half::{Half, ToRound, round_latency, round_to_half};
use super::inverse_root::{DIGITS, EXPONENT};
use super::pipe::later;
use super::product::{product, product_latency, square};
use crate::lang::{
    About, Block, CatalogBlock, In, InOption, Module, Out, Timing, bit, cat, mux, parameters, ports, sint, uint,
};

/// Bits of a significand.
const SIGNIFICAND: u32 = 11;
/// Bits of a significand times a factor.
const SCALED: u32 = DIGITS + SIGNIFICAND;
/// Bits of the square of an fp16 number in units of 2^-48.
pub(super) const SQUARE: u32 = 80;

parameters! {
    /// No parameters.
    pub struct SquareLane {
    }
}

ports! {
    /// Ports of [`SquareLane`].
    pub struct SquareLanePorts(p: &SquareLane) {
        /// The element takes part; otherwise it counts as zero.
        used_i: In = bit(),
        /// fp16.
        x_i: In = uint(16),
        /// Its square in units of 2^-48, `latency` cycles later; 0 for infinities and NaNs.
        square_o: Out = uint(SQUARE),
        /// It is an infinity or a NaN, `latency` cycles later.
        special_o: Out = bit(),
    }
}

impl SquareLane {
    /// Cycles from the element to its square.
    #[must_use]
    pub fn latency() -> u32 {
        product_latency(SIGNIFICAND, SIGNIFICAND) + 1
    }
}

impl Block for SquareLane {
    type Ports = SquareLanePorts;
    const ABOUT: About = About {
        name: "square_lane",
        summary: "exact square of an fp16 number as an integer",
        contract: "square_o = used_i * x_i^2 * 2^48 of `latency` cycles ago, exactly. special_o is high for\n\
            infinities and NaNs that are used.",
        reference: "IEEE 754, section 3.6",
    };

    fn build(&self, m: &mut Module, io: &SquareLanePorts) {
        let x = Half::new(m, "x", io.x_i);
        m.unused(x.sign);
        m.unused(x.nan);
        let special = m.wire("special", x.special & io.used_i);
        let counts = m.wire("counts", io.used_i & !x.special);
        let significand = m.wire("significand", x.significand & counts.repeat(SIGNIFICAND));
        let latency = product_latency(SIGNIFICAND, SIGNIFICAND);
        let square = square(m, "square", significand);
        // The square of 2^(scale - 25): twice as many places, from 2^-48 on.
        let places = m.wire("places", x.scale.wrapping_sub(1));
        let places = later(m, "places_late", places, latency);
        let mut placed = square;
        for k in 0..5 {
            let step = 2u32 << k;
            let width = (placed.width() + step).min(SQUARE);
            let moved = placed.shl(step);
            let moved = if moved.width() > width { moved.truncate(width) } else { moved.extend(width) };
            placed = m.wire(&format!("by_{step}"), mux(places.bit(k), moved, placed.extend(width)));
        }
        let placed = later(m, "placed", placed, 1);
        m.connect(io.square_o, placed);
        let special = later(m, "special_late", special, latency + 1);
        m.connect(io.special_o, special);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(Self::latency())
    }
}

impl CatalogBlock for SquareLane {
    fn configurations() -> Vec<Self> {
        Vec::new()
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct ScaleLane {
        /// A second factor for each element.
        gain: bool = true, tag "gain";
    }
}

ports! {
    /// Ports of [`ScaleLane`].
    pub struct ScaleLanePorts(p: &ScaleLane) {
        /// The element, fp16.
        x_i: In = uint(16),
        /// Its gain, fp16; present with `gain`.
        gain_i: InOption = uint(16).when(p.gain),
        /// Digits of the row's factor.
        factor_i: In = uint(DIGITS),
        /// The row's factor is `factor_i` * 2^`exponent_i`.
        exponent_i: In = sint(EXPONENT),
        /// The result is a NaN.
        nan_i: In = bit(),
        /// x * factor * gain, fp16, [`ScaleLane::latency`] cycles later.
        y_o: Out = uint(16),
    }
}

impl ScaleLane {
    /// Cycles from the element to the result.
    #[must_use]
    pub fn latency(&self) -> u32 {
        let first = product_latency(DIGITS, SIGNIFICAND);
        if self.gain {
            first + product_latency(SCALED, SIGNIFICAND) + round_latency(SCALED + SIGNIFICAND)
        } else {
            first + round_latency(SCALED)
        }
    }
}

impl Block for ScaleLane {
    type Ports = ScaleLanePorts;
    const ABOUT: About = About {
        name: "scale_lane",
        summary: "an fp16 number times a factor of its row and a gain of its own, rounded once",
        contract: "y_o = x_i * factor_i * 2^exponent_i * gain_i of `latency` cycles ago, the exact product rounded once to nearest, ties to even.\n\
            x_i is a number, factor_i is not zero; nan_i, a NaN as gain, and 0 * infinity give 0x7e00.",
        reference: "IEEE 754, section 4.3.1",
    };

    fn build(&self, m: &mut Module, io: &ScaleLanePorts) {
        let step = product_latency(DIGITS, SIGNIFICAND);
        let x = Half::new(m, "x", io.x_i);
        m.unused(x.special);
        m.unused(x.nan);
        let mut magnitude = product(m, "scaled", io.factor_i, x.significand);
        let wide = EXPONENT + 2;
        let exponent = io.exponent_i.extend(wide).as_uint().wrapping_add(x.scale.extend(wide));
        let mut exponent = m.wire("exponent", exponent.wrapping_sub(25));
        let (mut sign, mut nan, mut infinite) = (x.sign, io.nan_i, bit().lit(0));
        // Ranks that the exponent has passed, and all ranks.
        let (mut behind, mut passed) = (0, step);
        if let Some(gain) = io.gain_i {
            let gain = Half::new(m, "gain", gain);
            let zero = m.wire("x_zero", !x.significand.any());
            sign = m.wire("sign", sign ^ gain.sign);
            nan = m.wire("nan", nan | gain.nan | (gain.special & zero));
            infinite = gain.special;
            let scale = later(m, "gain_scale", gain.scale.extend(wide).wrapping_sub(25), 1);
            let both = later(m, "x_exponent", exponent, 1).wrapping_add(scale);
            exponent = m.wire("both_exponents", both);
            behind = 1;
            let factor = later(m, "gain_late", gain.significand, step);
            magnitude = product(m, "gained", magnitude, factor);
            passed += product_latency(SCALED, SIGNIFICAND);
        }
        let exponent = later(m, "exponent_late", exponent, passed - behind).as_sint();
        let wait = later(m, "beside", cat(&[sign, nan, infinite]), passed);
        let value = ToRound { sign: wait.bit(2), nan: wait.bit(1), infinite: wait.bit(0), exponent, magnitude };
        let result = round_to_half(m, "round", value);
        m.connect(io.y_o, result);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

impl CatalogBlock for ScaleLane {
    fn configurations() -> Vec<Self> {
        vec![Self { gain: false }]
    }
}
