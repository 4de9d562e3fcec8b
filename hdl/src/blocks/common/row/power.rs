//! Powers of e of fp16 numbers, as powers of two: whole part and mantissa.

use super::half::Half;
use super::pipe::later;
use super::product::{multiple, product, product_latency};
use crate::blocks::common::float::exp::{log2_e, powers_of_two};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Signal, Timing, bit, cat, mux, parameters, ports, sint, uint,
};

/// Bits of the whole part of a logarithm.
pub const WHOLE: u32 = 18;
/// Places after the point of a logarithm and of a mantissa.
pub const FRACTION: u32 = 16;
/// Places after the point of log2 e.
const CONSTANT: u32 = 26;
/// Bits of the fraction that select a line.
const INDEX: u32 = 6;
/// Bits of the rise of a line.
const RISE: u32 = 12;

parameters! {
    /// No parameters.
    pub struct PowerLane {
    }
}

ports! {
    /// Ports of [`PowerLane`].
    pub struct PowerLanePorts(p: &PowerLane) {
        /// The element counts.
        counts_i: In = bit(),
        /// fp16.
        x_i: In = uint(16),
        /// Whole part of x log2 e, [`PowerLane::whole_latency`] cycles later; the least value where the element does
        /// not count.
        whole_o: Out = sint(WHOLE),
        /// The element does not count, or is an infinity or a NaN; with whole_o.
        nothing_o: Out = bit(),
        /// The element counts and is plus infinity or NaN; with whole_o.
        undefined_o: Out = bit(),
        /// 2 to the power of the fraction of x log2 e: its places after the point, [`PowerLane::latency`] cycles later.
        mantissa_o: Out = uint(FRACTION),
    }
}

impl PowerLane {
    /// Cycles from the element to the whole part.
    #[must_use]
    pub fn whole_latency() -> u32 {
        product_latency(CONSTANT + 1, 11) + 1
    }

    /// Cycles from the element to the mantissa.
    #[must_use]
    pub fn latency() -> u32 {
        Self::whole_latency() + 1 + product_latency(RISE, FRACTION - INDEX) + 1
    }
}

impl Block for PowerLane {
    type Ports = PowerLanePorts;
    const ABOUT: About = About {
        name: "power_lane",
        summary: "e to the power of an fp16 number, as whole part and mantissa of a power of two",
        contract: "x log2 e is truncated in magnitude to 16 places, and one unit less where x is below 0. whole_o is\n\
            its whole part.\n\
            1 + mantissa_o / 2^16 is 2 to the power of its fraction, from 64 straight lines, with an error below\n\
            2^-15.",
        reference: "Softermax, section 3",
    };

    fn build(&self, m: &mut Module, io: &PowerLanePorts) {
        let x = Half::new(m, "x", io.x_i);
        let latency = product_latency(CONSTANT + 1, 11);
        let scaled = multiple(m, "scaled", (log2_e(CONSTANT) as u32, CONSTANT + 1), x.significand);
        // The product is in units of 2^(scale - 51), and its magnitude is needed in units of 2^-16.
        let places = later(m, "places", uint(5).lit(30).wrapping_sub(x.scale), latency);
        let magnitude = m.wire("magnitude", scaled.slice(5..scaled.width()).shr_by(places));
        m.unused(scaled);
        let nothing = m.wire("nothing", !io.counts_i | x.special);
        let undefined = m.wire("undefined", io.counts_i & x.special & !(x.sign & !x.nan));
        // Minus zero is zero.
        let negative = m.wire("negative", x.sign & x.significand.any());
        let beside = later(m, "beside", cat(&[nothing, undefined, negative]), latency);
        let (nothing, undefined, sign) = (beside.bit(2), beside.bit(1), beside.bit(0));
        let wide = magnitude.width();
        let signed = cat(&[sign, magnitude ^ sign.repeat(wide)]);
        let whole = signed.slice(FRACTION..wide + 1).as_sint().extend(WHOLE);
        let least = sint(WHOLE).lit(-(1i64 << (WHOLE - 1)));
        let whole = later(m, "whole", mux(nothing, least, whole), 1);
        m.connect(io.whole_o, whole);
        let (nothing, undefined) = (later(m, "nothing_late", nothing, 1), later(m, "undefined_late", undefined, 1));
        m.connect(io.nothing_o, nothing);
        m.connect(io.undefined_o, undefined);

        m.comment("The line of the fraction, and its value.");
        let fraction = later(m, "fraction", signed.slice(0..FRACTION), 1);
        let line = self.line(m, fraction);
        let above = product(m, "above", line.rise, line.place);
        let above = above.slice(FRACTION - INDEX..above.width());
        let base = later(m, "base_late", line.base, product_latency(RISE, FRACTION - INDEX));
        let power = m.wire("power", base.wrapping_add(above.extend(base.width())));
        let mantissa = later(m, "mantissa", power.slice(1..FRACTION + 1), 1);
        m.unused(power);
        m.connect(io.mantissa_o, mantissa);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(Self::latency())
    }
}

impl CatalogBlock for PowerLane {
    fn configurations() -> Vec<Self> {
        Vec::new()
    }
}

/// A straight line, with one more place after the point than the mantissa.
struct Line {
    /// Its beginning.
    base: Signal,
    rise: Signal,
    /// The place on it.
    place: Signal,
}

impl PowerLane {
    /// The line of the fraction, a cycle later.
    fn line(&self, m: &mut Module, fraction: Signal) -> Line {
        let height = FRACTION + 1;
        let powers = powers_of_two(INDEX, height);
        let rises: Vec<u64> = powers.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let word = |(power, rise): (&u64, &u64)| uint(height + RISE).lit((power & ((1 << height) - 1)) << RISE | rise);
        let words: Vec<Signal> = powers.iter().zip(&rises).map(word).collect();
        let line = m.lookup("line", fraction.slice(FRACTION - INDEX..FRACTION), &words);
        let line = later(m, "line_word", line, 1);
        let place = later(m, "low", fraction.slice(0..FRACTION - INDEX), 1);
        Line { base: line.slice(RISE..RISE + height), rise: line.slice(0..RISE), place }
    }
}
