//! Reciprocal of an integer, from straight lines.

use super::normaliser::{normalise, normalise_latency};
use super::pipe::later;
use super::product::{product, product_latency};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Signal, Timing, bit, index_width, parameters, ports, uint,
};

/// Bits of a reciprocal: 1 and 18 places.
pub const RECIPROCAL: u32 = 19;
/// Bits of the shortest integer.
pub const NARROWEST: u32 = 20;
/// Bits after the leading one that select a line, and bits after these that are a place on it.
const INDEX: u32 = 8;
const LOW: u32 = 10;
/// Bits of the fall of a line.
const FALL: u32 = 12;
/// Places of the lines.
const HEIGHT: u32 = 20;

parameters! {
    /// Elaboration parameters.
    pub struct RowReciprocal {
        /// Bits of the integer.
        width: u32 = 40, in NARROWEST..=128, tag "w";
    }
}

ports! {
    /// Ports of [`RowReciprocal`].
    pub struct RowReciprocalPorts(p: &RowReciprocal) {
        /// The integer.
        a_i: In = uint(p.width),
        /// 2^18 / (a / 2^top), about.
        digits_o: Out = uint(RECIPROCAL),
        /// Places from the leading one of a to the top of the port: top = width - 1 - count_o.
        count_o: Out = uint(index_width(p.width.into())),
        /// a is zero, and the other outputs are undefined.
        zero_o: Out = bit(),
    }
}

impl RowReciprocal {
    /// Cycles from the integer to its reciprocal.
    #[must_use]
    pub fn latency(&self) -> u32 {
        normalise_latency(self.width) + 1 + product_latency(FALL, LOW) + 1
    }
}

impl Block for RowReciprocal {
    type Ports = RowReciprocalPorts;
    const ABOUT: About = About {
        name: "row_reciprocal",
        summary: "reciprocal of an integer within 2^-17, from straight lines",
        contract: "1 / a_i of `latency` cycles ago is digits_o * 2^-(18 + top), top = width - 1 - count_o, with a\n\
            relative error below 2^-17.\n\
            It comes from 256 lines between quotients with 20 places, and from the first 18 bits of a after its\n\
            leading one.",
        reference: "Softermax, section 3",
    };

    fn build(&self, m: &mut Module, io: &RowReciprocalPorts) {
        let (top, count) = normalise(m, "top", io.a_i);
        let w = self.width;
        let fraction = top.slice(w - 1 - INDEX - LOW..w - 1);
        let quotient = |line: u64| (1u64 << (HEIGHT + INDEX)) / ((1 << INDEX) + line);
        let falls: Vec<u64> = (0..1 << INDEX).map(|line| quotient(line) - quotient(line + 1)).collect();
        let word = |(line, fall): (u64, &u64)| uint(HEIGHT + 1 + FALL).lit(quotient(line) << FALL | fall);
        let words: Vec<Signal> = (0..).zip(&falls).map(word).collect();
        let line = m.lookup("line", fraction.slice(LOW..LOW + INDEX), &words);
        let line = later(m, "line_word", line, 1);
        let low = later(m, "low", fraction.slice(0..LOW), 1);
        let (base, fall) = (line.slice(FALL..FALL + HEIGHT + 1), line.slice(0..FALL));
        let below = product(m, "below", fall, low);
        let base = later(m, "base", base, product_latency(FALL, LOW));
        let value = m.wire("value", base.wrapping_sub(below.slice(LOW..below.width()).extend(HEIGHT + 1)));
        m.unused(below);
        let digits = later(m, "digits", value.slice(HEIGHT - 18..HEIGHT + 1), 1);
        m.unused(value);
        m.connect(io.digits_o, digits);
        let rest = self.latency() - normalise_latency(w);
        let count = later(m, "count", count, rest);
        m.connect(io.count_o, count);
        let zero = later(m, "zero", !top.msb(), rest);
        m.connect(io.zero_o, zero);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

impl CatalogBlock for RowReciprocal {
    fn configurations() -> Vec<Self> {
        [NARROWEST, 23, 64].map(|width| Self { width }).to_vec()
    }
}
