//! Non-zero quantizer: the exactly rounded quantised value of every element, or the zero point of its channel's level.
//!
//! A quantised value is the quotient of (2 L d + range) and 2 range, with L = 2^b - 1 and d the distance from the low end.
//! Halved, that is floor((L d + floor(range / 2)) / range), and L d = (d << b) - d: no multiplier and no divider, but eight
//! compare-and-subtract steps of nine bits, three of them in the first stage and five in the second.
//!
//! The zero point is the same quotient with d = -lo. When lo is positive it is -floor((L lo + floor((range - 1) / 2)) / range),
//! so that the same steps serve both. An element that opens a level stands at one of its ends, where its quantised value is
//! known to be 0 or L; the steps are then free for the zero point, and one divider a lane is enough.

use serde::{Deserialize, Serialize};

use super::{RANGE_BITS, ZERO_BITS, bits_type, steps_of};
use crate::blocks::common::Pipeline;
use crate::lang::{
    About, Block, CatalogBlock, Index, Module, OldInStream, OldOutStream, OldParameter, ParamError, Proof, Reg, Signal,
    Type, bit, cat, ensure_param, mux, old_parameters, ports, sint, stream, uint,
};

/// Compare-and-subtract steps in the first stage; the other stage does the rest of the eight.
const FIRST_STEPS: u32 = 3;

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonZeroQuantizer {
    /// Elements of a tile.
    pub lanes: u32,
    /// Width of the tag that travels with a tile.
    pub tag_width: u32,
}

ports! {
    /// Ports of [`NonZeroQuantizer`].
    pub struct NonZeroQuantizerPorts(p: &NonZeroQuantizer) {
        /// Elements with their levels, and lanes that ask for the zero point of a level that opens.
        tile: OldInStream = stream()
            .field("bits", bits_type())
            .array("index", bit().array(p.lanes))
            .array("open", bit().array(p.lanes))
            .array("x", sint(8).array(p.lanes))
            .array("lo", sint(8).array(p.lanes))
            .array("range", uint(RANGE_BITS).array(p.lanes))
            .field("tag", uint(p.tag_width)),
        /// Quantised values and their labels, ranges and zero points of the levels that opened.
        result: OldOutStream = stream()
            .field("bits", bits_type())
            .array("index", bit().array(p.lanes))
            .array("label", bit().array(p.lanes))
            .array("q", uint(8).array(p.lanes))
            .array("open", bit().array(p.lanes))
            .array("range", uint(RANGE_BITS).array(p.lanes))
            .array("zero", sint(ZERO_BITS).array(p.lanes))
            .field("tag", uint(p.tag_width)),
    }
}

old_parameters!(NonZeroQuantizer);

impl Block for NonZeroQuantizer {
    type Ports = NonZeroQuantizerPorts;
    const ABOUT: About = About {
        name: "non_zero_quantizer",
        summary: "exactly rounded b-bit quantiser, b from 2 to 8 at run time",
        contract: "with L = 2^bits - 1: q = clamp(floor((2 L (x - lo) + range) / (2 range)), 0, L) where index is 1 and open is 0;\n\
            where both are 1, x is lo or lo + range and q is 0 or L; q is 0 where index is 0. label = (q != 0).\n\
            Where open is 1, zero = floor((-2 L lo + range) / (2 range)) and range is passed on; both are 0 elsewhere.\n\
            bits is 2 to 8 and range L to 510. Latency 2 cycles, one tile a cycle.",
        reference: "Titanus, section 4.4 (NZQ)",
    };

    fn module_name(&self) -> String {
        format!("non_zero_quantizer_l{}_g{}", self.lanes, self.tag_width)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 1..=256)?;
        ensure_param("tag_width", self.tag_width, 1..=4096)
    }

    fn build(&self, m: &mut Module, io: &NonZeroQuantizerPorts) {
        let control = Pipeline::new(m, &["first", "second"], io.tile.valid, io.result.ready);
        m.connect(io.tile.ready, control.ready);
        m.connect(io.result.valid, control.stages[1].valid);
        let loads = [control.stages[0].load, control.stages[1].load];
        let travel = |m: &mut Module, name: &str, value: Signal| -> [Signal; 2] {
            let first = m.reg(&format!("{name}_first_q"), value.ty());
            first.next_when(loads[0], value);
            let second = m.reg(&format!("{name}_second_q"), value.ty());
            second.next_when(loads[1], first.q);
            [first.q, second.q]
        };
        let bits = travel(m, "bits", io.tile.field("bits"));
        let tag = travel(m, "tag", io.tile.field("tag"));
        m.connect(io.result.field("bits"), bits[1]);
        m.connect(io.result.field("tag"), tag[1]);
        let steps = steps_of(m, "steps", bits[0]);
        m.for_each("lanes", self.lanes, |m, lane| self.lane(m, io, lane, loads, steps));
        m.formal(|m| control.assert_order(m, "tiles", io.tile.fire(), io.result.fire()));
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("latency".into(), 2), ("cycles_per_tile".into(), 1)]
    }
}

/// A register with an enable.
fn held(m: &mut Module, name: &str, ty: Type, load: Signal, value: Signal) -> Signal {
    let register: Reg = m.reg(name, ty);
    register.next_when(load, value);
    register.q
}

/// `count` steps of a restoring division: the remainder, and the quotient bits, highest first.
pub(super) fn divide(
    m: &mut Module,
    name: &str,
    mut remainder: Signal,
    numerator: &[Signal],
    divisor: Signal,
) -> (Signal, Vec<Signal>) {
    let width = divisor.width();
    let mut quotient = Vec::new();
    for (i, &next) in numerator.iter().enumerate() {
        let shifted = m.wire(&format!("{name}_shifted_{i}"), cat(&[remainder, next]));
        let less = m.wire(&format!("{name}_less_{i}"), shifted - divisor);
        let fits = m.wire(&format!("{name}_fits_{i}"), !less.msb());
        let rest = mux(fits, less.as_uint().truncate(width), shifted.truncate(width));
        remainder = m.wire(&format!("{name}_rest_{i}"), rest);
        quotient.push(fits);
    }
    (remainder, quotient)
}

impl NonZeroQuantizer {
    fn lane(&self, m: &mut Module, io: &NonZeroQuantizerPorts, lane: Index, loads: [Signal; 2], steps: Signal) {
        let input = |name: &str| io.tile.array(name).at(lane);
        let (index, open, range) = (input("index"), input("open"), input("range"));
        let (x, lo) = (input("x"), input("lo"));
        let distance = m.wire("distance", x - lo);
        let below = m.wire("below", distance.msb());
        let above = m.wire("above", distance.as_uint().truncate(8).gt(range));
        // What opens a level stands at one of its ends.
        let at_top = m.wire("at_top", x.ne(lo));
        let positive = m.wire("positive", !lo.msb() & lo.any());
        let low_end = m.wire("low_end", mux(lo.msb(), (-lo).as_uint(), lo.as_uint().extend(9)));
        // Clamped to the level: 0 to range.
        let inside = mux(above, range, distance.as_uint().truncate(8).extend(RANGE_BITS));
        let clamped = mux(below, range.ty().lit(0), inside);
        let dividend = m.wire("dividend", mux(open, low_end, clamped));
        let half = m.wire("half", range.shr(1).extend(RANGE_BITS));
        // floor((range - 1) / 2) is one less when range is even.
        let down = m.wire("down", open & positive);
        let bias = m.wire("bias", half.wrapping_sub((down & !range.bit(0)).extend(RANGE_BITS)));
        // L d + bias = (d << b) - d + bias, below 256 range.
        let shift = m.wire("shift", io.tile.field("bits").wrapping_sub(2).truncate(3));
        let scaled = m.wire("scaled", dividend.shl(2).extend(17).shl_by(shift));
        let numerator = m.wire("numerator", scaled.wrapping_sub(dividend).wrapping_add(bias));
        let bits_from = |n: Signal, high: u32, low: u32| (low..high).rev().map(|i| n.bit(i)).collect::<Vec<_>>();
        let first = bits_from(numerator, 8, 8 - FIRST_STEPS);
        let (rest, high) = divide(m, "high", numerator.slice(8..17), &first, range);

        let [load, _] = loads;
        let rest_q = held(m, "rest_q", rest.ty(), load, rest);
        let left_bits = 8 - FIRST_STEPS;
        let low_q = held(m, "numerator_q", uint(left_bits), load, numerator.slice(0..left_bits));
        let high_q = held(m, "high_q", uint(FIRST_STEPS), load, cat(&high));
        let range_q = held(m, "range_first_q", range.ty(), load, range);
        let index_q = held(m, "index_first_q", bit(), load, index);
        let open_q = held(m, "open_first_q", bit(), load, open);
        let down_q = held(m, "down_q", bit(), load, down);
        let top_q = held(m, "top_q", bit(), load, at_top);

        let (rest, low) = divide(m, "low", rest_q, &bits_from(low_q, left_bits, 0), range_q);
        m.unused(rest);
        let mut all = vec![high_q];
        all.extend(low);
        let quotient = m.wire("quotient", cat(&all));
        let end = mux(top_q, steps, steps.ty().lit(0));
        let shown = index_q.repeat(8);
        let q = m.wire("q", mux(open_q, end, quotient) & shown);
        let signed = quotient.extend(ZERO_BITS);
        let zero = m.wire("zero", mux(down_q, signed.ty().lit(0).wrapping_sub(signed), signed));

        let [_, load] = loads;
        let out = |name: &str| io.result.array(name).at(lane);
        let result = [
            ("index", index_q),
            ("label", q.any()),
            ("q", q),
            ("open", open_q),
            ("range", range_q & open_q.repeat(RANGE_BITS)),
            ("zero", zero & open_q.repeat(ZERO_BITS)),
        ];
        for (name, value) in result {
            let value = held(m, &format!("{name}_out_q"), value.ty(), load, value);
            let to = out(name);
            m.connect(to, if to.ty().signed { value.as_sint() } else { value });
        }
    }
}

impl Default for NonZeroQuantizer {
    fn default() -> Self {
        Self { lanes: 32, tag_width: 8 }
    }
}

impl CatalogBlock for NonZeroQuantizer {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "1 to 256", meaning: "elements of a tile" },
        OldParameter {
            name: "tag_width",
            allowed: "1 to 4096",
            meaning: "width of the tag that travels with a tile, bits",
        },
    ];

    fn configurations() -> Vec<Self> {
        [(1, 1), (5, 70)].map(|(lanes, tag_width)| Self { lanes, tag_width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { lanes: 1, tag_width: 1 }, depth: 8, cover_depth: 10, induction: true }]
    }
}
