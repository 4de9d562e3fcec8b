//! Rows of lanes become rows of packed beats.

use crate::blocks::common::row::VectorResult;
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Array, Block, In, InStream, Module, OutStream, Signal, Timing, bit, mux, parameters, ports, select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct RowPacker {
        /// Elements of a beat.
        lanes: u32 = 8, in 2..=64, tag "l";
    }
}

ports! {
    /// Ports of [`RowPacker`].
    pub struct RowPackerPorts(p: &RowPacker) {
        /// Drops all that is inside at the coming edge.
        clear_i: In = bit(),
        /// 0 fp16, 1 integers of 8 bits, 2 of 4 bits; steady while a row is inside.
        format_i: In = uint(2),
        /// Rows that come.
        input: InStream<VectorResult> = p.lanes,
        /// The same rows, packed, the first element lowest; each begins a beat, and zeros follow its end.
        output: OutStream<Word> = 16 * p.lanes,
    }
}

impl Block for RowPacker {
    type Ports = RowPackerPorts;
    const ABOUT: About = About {
        name: "row_packer",
        summary: "rows of lanes as packed rows of fp16 numbers, bytes or nibbles",
        contract: "A beat leaves when it is full or its row ends, one cycle after its last part came.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RowPackerPorts) {
        let (lanes, width) = (self.lanes, 16 * self.lanes);
        m.unused(io.input.overflow);
        m.unused(io.input.error);
        let values = m.nets("value", uint(16), lanes);
        m.for_each("used", lanes, |m, i| {
            let used = io.input.used.gt(i.value(io.input.used.width()));
            m.connect(values.at(i), io.input.values.at(i) & used.repeat(16));
        });
        let low = |m: &mut Module, name: &str, bits: u32| -> Signal {
            let parts: Array = m.nets(name, uint(bits), lanes);
            m.for_each(name, lanes, |m, i| m.connect(parts.at(i), values.at(i).slice(0..bits)));
            parts.packed()
        };
        let (bytes, nibbles) = (low(m, "low_byte", 8), low(m, "low_nibble", 4));
        let (int8, int4) = (m.wire("int8", io.format_i.eq(1)), m.wire("int4", io.format_i.eq(2)));

        // Parts of a beat that are here already.
        let place = m.reg_init("place_q", uint(2), 0);
        let kept = m.reg("kept_q", uint(width - 4 * lanes));
        let at = |part: Signal, step: u32, count: u32| -> Vec<Signal> {
            (0..count).map(|k| part.shl(k * step).extend(width)).collect()
        };
        let byte_at = m.lookup("byte_at", place.q.bit(0), &at(bytes, 8 * lanes, 2));
        let nibble_at = m.lookup("nibble_at", place.q, &at(nibbles, 4 * lanes, 4));
        let part = m.wire("part", select(&[(int8, byte_at), (int4, nibble_at)], values.packed()));
        let begun = place.q.any();
        let before = kept.q & begun.repeat(kept.q.width());
        let word = m.wire("word", part | before.extend(width));
        let full = m.wire("full", select(&[(int8, place.q.eq(1)), (int4, place.q.eq(3))], bit().lit(1)));
        let ends = m.wire("ends", full | io.input.last);
        let takes = m.wire("takes", io.input.fire());
        let leaves = m.wire("leaves", takes & ends);
        let next = m.wire("place_next", mux(ends, uint(2).lit(0), place.q.wrapping_add(1)));
        place.next(mux(io.clear_i, uint(2).lit(0), mux(takes, next, place.q)));
        kept.next_when(takes & !ends, word.slice(0..kept.q.width()));

        let valid = m.reg_init("valid_q", bit(), 0);
        let data = m.reg("data_q", uint(width));
        valid.next((leaves | (valid.q & !io.output.ready)) & !io.clear_i);
        data.next_when(leaves, word);
        m.connect(io.input.ready, (!valid.q | io.output.ready) & !io.clear_i);
        m.connect(io.output.valid, valid.q);
        m.connect(io.output.data.data, data.q);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
