//! An element less the mean of its row, scaled: the lane of a layer norm.
//!
//! Nothing is divided by n. With s the sum of x, n x - s is an integer, and the row's factor includes the division by
//! n.

use super::adder::add;
use super::half::{Half, ToRound, round_latency, round_to_half};
use super::inverse_root::{DIGITS, EXPONENT};
use super::lanes::SquareLane;
use super::normaliser::{normalise, normalise_latency};
use super::pipe::later;
use super::product::{product, product_latency};
use crate::blocks::common::FloatAdd;
use crate::blocks::common::float::{FloatFormat, Subnormals};
use crate::lang::{
    About, Block, CatalogBlock, In, InOption, Module, Out, Signal, Timing, bit, cat, mux, parameters, ports, sint, uint,
};

/// Bits of a significand.
const SIGNIFICAND: u32 = 11;
/// Bits of an fp16 number in units of 2^-24, without its sign.
pub(super) const FIXED: u32 = 40;
/// Leading bits of n x - s that are used.
const CENTRED: u32 = 22;
/// Ranks in the adder of the bias, and one after it.
const BIAS: u32 = 5;

/// The magnitude `significand` * 2^(`scale` - 1), `width` bits wide.
pub(super) fn fixed(m: &mut Module, name: &str, significand: Signal, scale: Signal, width: u32) -> Signal {
    let places = m.wire(&format!("{name}_places"), scale.wrapping_sub(1));
    let mut placed = significand;
    for k in 0..5 {
        let step = 1u32 << k;
        let wide = (placed.width() + step).min(width);
        let moved = placed.shl(step);
        let moved = if moved.width() > wide { moved.truncate(wide) } else { moved };
        placed = m.wire(&format!("{name}_by_{step}"), mux(places.bit(k), moved, placed.extend(wide)));
    }
    placed.extend(width)
}

parameters! {
    /// No parameters.
    pub struct FixedLane {
    }
}

ports! {
    /// Ports of [`FixedLane`].
    pub struct FixedLanePorts(p: &FixedLane) {
        /// The element takes part; otherwise it counts as zero.
        used_i: In = bit(),
        /// fp16.
        x_i: In = uint(16),
        /// x_i in units of 2^-24, two's complement, `latency` cycles later; 0 for infinities and NaNs.
        value_o: Out = uint(FIXED + 1),
    }
}

impl Block for FixedLane {
    type Ports = FixedLanePorts;
    const ABOUT: About = About {
        name: "fixed_lane",
        summary: "an fp16 number as an integer",
        contract: "value_o = used_i * x_i * 2^24 of `latency` cycles ago, two's complement; 0 for infinities and NaNs.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &FixedLanePorts) {
        let x = Half::new(m, "x", io.x_i);
        m.unused(x.nan);
        let counts = m.wire("counts", io.used_i & !x.special);
        let magnitude = fixed(m, "value", x.significand & counts.repeat(SIGNIFICAND), x.scale, FIXED);
        let (magnitude, sign) = (later(m, "placed", magnitude, 1), later(m, "sign", x.sign, 1));
        let flipped = cat(&[bit().lit(0), magnitude]) ^ sign.repeat(FIXED + 1);
        let value = add(m, "value", flipped, sign, false).truncate(FIXED + 1);
        // As late as the square.
        let value = later(m, "value", value, SquareLane::latency() - 1);
        m.connect(io.value_o, value);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(SquareLane::latency())
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct CentreLane {
        /// Bits of the number of elements.
        count_width: u32 = 10, in 1..=17, tag "n";
        /// A second factor and an addend for each element.
        affine: bool = true, tag "affine";
    }
}

ports! {
    /// Ports of [`CentreLane`].
    pub struct CentreLanePorts(p: &CentreLane) {
        /// The element, fp16.
        x_i: In = uint(16),
        /// Its gain, fp16; present with `affine`.
        gain_i: InOption = uint(16).when(p.affine),
        /// Its bias, fp16; present with `affine`.
        bias_i: InOption = uint(16).when(p.affine),
        /// Elements of the row.
        count_i: In = uint(p.count_width),
        /// Their sum in units of 2^-24.
        sum_i: In = sint(p.sum_width()),
        /// Digits of the row's factor.
        factor_i: In = uint(DIGITS),
        /// The row's factor is `factor_i` * 2^`exponent_i`.
        exponent_i: In = sint(EXPONENT),
        /// The result is a NaN.
        nan_i: In = bit(),
        /// (count * x - sum) * factor * gain + bias, fp16, [`CentreLane::latency`] cycles later.
        y_o: Out = uint(16),
    }
}

impl CentreLane {
    /// Bits of a row's sum.
    #[must_use]
    pub fn sum_width(&self) -> u32 {
        FIXED + self.count_width + 1
    }

    /// Cycles from the element to n x - s, and to n x - s without leading zeros.
    fn centred(&self) -> (u32, u32) {
        // Times n, in its place, less the sum, its magnitude.
        let difference = product_latency(SIGNIFICAND.max(self.count_width), SIGNIFICAND.min(self.count_width)) + 3;
        (difference, difference + normalise_latency(self.sum_width()))
    }

    /// Cycles from the element to the result.
    #[must_use]
    pub fn latency(&self) -> u32 {
        let scaled = self.centred().1 + product_latency(CENTRED, DIGITS);
        if self.affine {
            scaled
                + product_latency(CENTRED + DIGITS, SIGNIFICAND)
                + round_latency(CENTRED + DIGITS + SIGNIFICAND)
                + BIAS
        } else {
            scaled + round_latency(CENTRED + DIGITS)
        }
    }
}

impl Block for CentreLane {
    type Ports = CentreLanePorts;
    const ABOUT: About = About {
        name: "centre_lane",
        summary: "an fp16 number less the mean of its row, scaled and rounded",
        contract: "d = the first 22 bits of count_i * x_i * 2^24 - sum_i; y_o = d * factor_i * 2^exponent_i * gain_i\n\
            of `latency` cycles ago.\n\
            The exact product is rounded once; with bias_i added it is rounded again, both to nearest, ties to even.\n\
            x_i is a number, factor_i is not zero; nan_i, a NaN as gain or bias, and 0 * infinity give 0x7e00.",
        reference: "Ba, Kiros and Hinton, arXiv:1607.06450",
    };

    fn build(&self, m: &mut Module, io: &CentreLanePorts) {
        let (n, width) = (self.count_width, self.sum_width());
        let x = Half::new(m, "x", io.x_i);
        m.unused(x.special);
        m.unused(x.nan);
        let times = product_latency(SIGNIFICAND.max(n), SIGNIFICAND.min(n));
        let (wide, narrow) = if n < SIGNIFICAND { (x.significand, io.count_i) } else { (io.count_i, x.significand) };
        let multiple = product(m, "multiple", wide, narrow);
        let scale = later(m, "scale", x.scale, times);
        let multiple = fixed(m, "multiple", multiple, scale, FIXED + n);
        let multiple = later(m, "placed", multiple, 1);
        let sign = later(m, "x_sign", x.sign, times + 1);
        // With the sign of x: n |x| - s or n |x| + s, which is the centred element or its negative.
        let sum = later(m, "sum", io.sum_i, times).as_uint();
        let adds = later(m, "sum_sign", x.sign, times);
        let sum = later(m, "signed_sum", mux(adds, sum, !sum), 1);
        // Minus s is the complement of s, plus one.
        let one = cat(&[!sign]);
        let sum = sum.as_sint().extend(width + 1).as_uint();
        let both = add(m, "centred", cat(&[multiple.extend(width + 1), bit().lit(1)]), cat(&[sum, one]), false);
        let centred = later(m, "centred", both.slice(1..width + 2), 1);
        let negative = m.wire("negative", centred.msb());
        // The complement, plus one.
        let flipped = centred ^ negative.repeat(width + 1);
        let magnitude = add(m, "magnitude", flipped, negative, false).truncate(width);
        let magnitude = later(m, "magnitude", magnitude, 1);
        let sign = later(m, "sign", sign, 1);
        let negative = later(m, "negative_late", negative ^ sign, 1);

        let (top, count) = normalise(m, "top", magnitude);
        let first = normalise_latency(width);
        let top = top.slice(width - CENTRED..width);
        m.unused(top);
        // Zero is positive.
        let negative = later(m, "negative_top", negative, first) & top.msb();
        self.scale(m, io, Difference { top, zeros: count, negative });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

impl CatalogBlock for CentreLane {
    fn configurations() -> Vec<Self> {
        vec![Self { count_width: 3, affine: false }]
    }
}

/// n x - s.
struct Difference {
    /// Its leading bits.
    top: Signal,
    /// Zeros before them.
    zeros: Signal,
    negative: Signal,
}

impl CentreLane {
    /// From the difference to the result.
    fn scale(&self, m: &mut Module, io: &CentreLanePorts, difference: Difference) {
        let Difference { top, zeros, negative } = difference;
        let passed = self.centred().1;
        let step = product_latency(CENTRED, DIGITS);
        let wide = EXPONENT + 3;
        let factor = later(m, "factor", io.factor_i, passed);
        let mut magnitude = product(m, "scaled", top, factor);
        let exponent = later(m, "exponent", io.exponent_i.extend(wide).as_uint(), passed);
        let places = uint(wide).lit(self.sum_width() - CENTRED).wrapping_sub(zeros.extend(wide));
        let places = later(m, "places", places, 1);
        let exponent = later(m, "exponent_late", exponent, 1).wrapping_add(places);
        let mut exponent = later(m, "sum_exponent", exponent, 1);
        let (mut sign, nan) = (negative, later(m, "nan", io.nan_i, passed));
        let Some((gain, bias)) = io.gain_i.zip(io.bias_i) else {
            let beside = later(m, "beside", cat(&[sign, nan]), step);
            let exponent = later(m, "exponent_last", exponent, step - 2).as_sint();
            let value =
                ToRound { sign: beside.bit(1), nan: beside.bit(0), infinite: bit().lit(0), exponent, magnitude };
            let result = round_to_half(m, "round", value);
            m.connect(io.y_o, result);
            return;
        };
        let gain = later(m, "gain", gain, passed);
        let gain = Half::new(m, "gain_parts", gain);
        let zero = m.wire("zero", !top.any());
        sign = m.wire("product_sign", sign ^ gain.sign);
        let nan = m.wire("product_nan", nan | gain.nan | (gain.special & zero));
        let significand = later(m, "gain_significand", gain.significand, step);
        magnitude = product(m, "gained", magnitude, significand);
        let scale = later(m, "gain_scale", gain.scale.extend(wide).wrapping_sub(25), 2);
        exponent = later(m, "both_exponents", exponent.wrapping_add(scale), 1);
        let all = step + product_latency(CENTRED + DIGITS, SIGNIFICAND);
        let beside = later(m, "beside", cat(&[sign, nan, gain.special]), all);
        let exponent = later(m, "exponent_last", exponent, all - 3).as_sint();
        let value = ToRound { sign: beside.bit(2), nan: beside.bit(1), infinite: beside.bit(0), exponent, magnitude };
        let result = round_to_half(m, "round", value);
        let u = m.instance(
            "u_bias",
            FloatAdd {
                format: FloatFormat::Fp16,
                stages: BIAS - 1,
                subnormals: Subnormals::Ieee,
                subtract: false,
                flags: false,
            },
        );
        m.connect(u.valid_i, 1);
        m.connect(u.a_i, result);
        let bias = later(m, "bias", bias, self.latency() - BIAS);
        // A row without a norm is NaN, whatever is added.
        m.connect(u.b_i, bias);
        m.unused(u.valid_o);
        let result = later(m, "result", u.result_o, 1);
        m.connect(io.y_o, result);
    }
}
