//! Non-zero quantizer: the exactly rounded quantized value of every element, or the zero point of its channel's level.
//!
//! A quantized value is the quotient of (2 L d + range) and 2 range, with L = 2^b - 1 and d the distance from the low
//! end. Halved, that is floor((L d + floor(range / 2)) / range), and L d = (d << b) - d: no multiplier and no divider,
//! but eight compare-and-subtract steps of nine bits, three of them in the first stage and five in the second.
//!
//! The zero point is the same quotient with d = -lo. When lo is positive it is -floor((L lo + floor((range - 1) / 2)) /
//! range), so that the same steps serve both. An element that opens a level is at one of its ends, where its quantized
//! value is known to be 0 or L. The steps are then free for the zero point, and one divider a lane is enough.

use super::{RANGE_BITS, ZERO_BITS, bits_type, steps_of};
use crate::blocks::common::Pipeline;
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, InStream, Index, Module, OutStream, Proof, Reg, Signal, Timing,
    Type, bit, bundle, cat, mux, parameters, ports, sint, uint,
};

/// Compare-and-subtract steps in the first stage; the other stage does the rest of the eight.
const FIRST_STEPS: u32 = 3;

parameters! {
    /// Elaboration parameters.
    pub struct NonZeroQuantizer {
        /// Elements of a tile.
        lanes: u32 = 32, in 1..=256, tag "l";
        /// Width of the tag that travels with a tile, bits.
        tag_width: u32 = 8, in 1..=4096, tag "g";
    }
}

bundle! {
    /// Elements with their levels.
    pub struct LevelledTile(p: NonZeroQuantizer) {
        /// Width of a quantized value, 2 to 8.
        bits: Field = bits_type(),
        /// Lanes that hold an element.
        index: FieldArray = bit().array(p.lanes),
        /// Lanes that ask for the zero point of a level that opens.
        open: FieldArray = bit().array(p.lanes),
        /// Elements.
        x: FieldArray = sint(8).array(p.lanes),
        /// Low ends of the levels.
        lo: FieldArray = sint(8).array(p.lanes),
        /// Ranges of the levels.
        range: FieldArray = uint(RANGE_BITS).array(p.lanes),
        /// Travels with the tile.
        tag: Field = uint(p.tag_width),
    }
}

bundle! {
    /// Quantized values.
    pub struct LabelledTile(p: NonZeroQuantizer) {
        /// As it came.
        bits: Field = bits_type(),
        /// As it came.
        index: FieldArray = bit().array(p.lanes),
        /// The quantized value is not 0.
        label: FieldArray = bit().array(p.lanes),
        /// Quantized values.
        q: FieldArray = uint(8).array(p.lanes),
        /// As it came.
        open: FieldArray = bit().array(p.lanes),
        /// Range of a level that opens, 0 elsewhere.
        range: FieldArray = uint(RANGE_BITS).array(p.lanes),
        /// Zero point of a level that opens, 0 elsewhere.
        zero: FieldArray = sint(ZERO_BITS).array(p.lanes),
        /// As it came.
        tag: Field = uint(p.tag_width),
    }
}

ports! {
    /// Ports of [`NonZeroQuantizer`].
    pub struct NonZeroQuantizerPorts(p: &NonZeroQuantizer) {
        /// Elements with their levels, and lanes that ask for the zero point of a level that opens.
        tile: InStream<LevelledTile> = p.clone(),
        /// Quantized values and their labels, ranges and zero points of the levels that opened.
        result: OutStream<LabelledTile> = p.clone(),
    }
}

impl Block for NonZeroQuantizer {
    type Ports = NonZeroQuantizerPorts;
    const ABOUT: About = About {
        name: "non_zero_quantizer",
        summary: "exactly rounded b-bit quantizer, b from 2 to 8 at run time",
        contract: "With L = 2^bits - 1: q = clamp(floor((2 L (x - lo) + range) / (2 range)), 0, L) where index is 1\n\
            and open is 0. Where both are 1, x is lo or lo + range and q is 0 or L; q is 0 where index is 0.\n\
            label = (q != 0). Where open is 1, zero = floor((-2 L lo + range) / (2 range)) and range is passed on;\n\
            both are 0 elsewhere. bits is 2 to 8 and range L to 510. With others, and where an opening lane's x is\n\
            at no end, q and zero of that tile are undefined. Nothing is kept from tile to tile; reset at any time\n\
            drops the tiles inside. Latency 2 cycles, one tile a cycle.",
        reference: "Titanus, section 4.4 (NZQ)",
    };

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
        let bits = travel(m, "bits", io.tile.bits);
        let tag = travel(m, "tag", io.tile.tag);
        m.connect(io.result.bits, bits[1]);
        m.connect(io.result.tag, tag[1]);
        let steps = steps_of(m, "steps", bits[0]);
        m.for_each("lanes", self.lanes, |m, lane| self.lane(m, io, lane, loads, steps));
        m.formal(|m| control.assert_order(m, "tiles", io.tile.fire(), io.result.fire()));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
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
        let tile = &io.tile;
        let (index, open, range) = (tile.index.at(lane), tile.open.at(lane), tile.range.at(lane));
        let (x, lo) = (tile.x.at(lane), tile.lo.at(lane));
        let distance = m.wire("distance", x - lo);
        let below = m.wire("below", distance.msb());
        let above = m.wire("above", distance.as_uint().truncate(8).gt(range));
        // An element that opens a level is at one of its ends.
        let at_top = m.wire("at_top", x.ne(lo));
        // 0 counts as positive: its zero point is 0 either way.
        let positive = m.wire("positive", !lo.msb());
        let low_end = m.wire("low_end", mux(lo.msb(), (-lo).as_uint(), lo.as_uint().extend(9)));
        // Clamped to the level: 0 to range.
        let inside = mux(above, range, distance.as_uint().truncate(8).extend(RANGE_BITS));
        let clamped = mux(below, range.ty().lit(0), inside);
        let dividend = m.wire("dividend", mux(open, low_end, clamped));
        let half = m.wire("half", range.shr(1));
        // floor((range - 1) / 2) is one less when range is even.
        let down = m.wire("down", open & positive);
        let bias = m.wire("bias", half.wrapping_sub((down & !range.bit(0)).extend(RANGE_BITS - 1)));
        // L d + bias = (d << b) - d + bias, below 256 range.
        let shift = m.wire("shift", io.tile.bits.wrapping_sub(2).truncate(3));
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
        let to = &io.result;
        let result = [
            ("index_out_q", to.index, index_q),
            ("label_out_q", to.label, q.any()),
            ("q_out_q", to.q, q),
            ("open_out_q", to.open, open_q),
            ("range_out_q", to.range, range_q & open_q.repeat(RANGE_BITS)),
            ("zero_out_q", to.zero, zero & open_q.repeat(ZERO_BITS)),
        ];
        for (name, to, value) in result {
            let (to, value) = (to.at(lane), held(m, name, value.ty(), load, value));
            m.connect(to, value.cast(to.ty()));
        }
    }
}

impl CatalogBlock for NonZeroQuantizer {
    fn configurations() -> Vec<Self> {
        [(1, 1), (5, 70)].map(|(lanes, tag_width)| Self { lanes, tag_width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { lanes: 1, tag_width: 1 }, depth: 8, cover_depth: 10, induction: true }]
    }
}
