//! Keys or values of a head's tokens, as rows of weights for the array.

use super::attention_spec::AttentionSpec;
use super::walk::{Walk, WalkMoves, WalkSize};
use crate::accelerators::sizes::fit;
use crate::blocks::common::stream::{StreamFifo, Word};
use crate::blocks::kelle::KvAccess;
use crate::lang::{
    About, Block, In, InArray, Module, Out, OutStream, Timing, bit, bits_for, index_width, mux, parameters, ports,
    select, uint,
};

/// Rows between the list and the array.
const INSIDE: u32 = 5;

parameters! {
    /// Elaboration parameters.
    pub struct HeadReader {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
}

ports! {
    /// Ports of [`HeadReader`].
    pub struct HeadReaderPorts(p: &HeadReader) {
        /// Drops everything.
        clear_i: In = bit(),
        /// A product begins.
        begin_i: In = bit(),
        /// The product is one with values, not with keys; steady up to the last row, as the sizes.
        values_i: In = bit(),
        /// Slices of a vector.
        slices_i: In = uint(bits_for(p.spec.slices().into())),
        /// Panels of tokens.
        panels_i: In = uint(bits_for(p.spec.panels().into())),
        /// Tokens of the last one.
        rest_i: In = uint(bits_for(p.spec.spec.rows.into())),
        /// Read a position of the list.
        read_o: Out = bit(),
        /// The position.
        position_o: Out = p.spec.position(),
        /// Its row, from the next cycle on and up to the next read.
        row_i: In = p.spec.row(),
        /// To the cache.
        access: OutStream<KvAccess> = p.spec.cache(),
        /// The data of the read is here.
        data_valid_i: In = bit(),
        /// With data_valid_i.
        data_i: InArray = uint(16).array(p.spec.width),
        /// Rows of weights, in the order in which product_walk takes them.
        weights: OutStream<Word> = 8 * p.spec.spec.columns,
    }
}

impl Block for HeadReader {
    type Ports = HeadReaderPorts;
    const ABOUT: About = About {
        name: "head_reader",
        summary: "keys or values of the tokens of a head as rows of weights",
        contract: "Keys: for each panel of tokens each slice. Values: for each slice each panel of tokens. Each\n\
            time the high bytes of all its tokens come, then the low ones. Only the wanted bytes are read.",
        reference: "Kelle, sections 5.1 and 5.2",
    };

    fn build(&self, m: &mut Module, io: &HeadReaderPorts) {
        let spec = &self.spec;
        let columns = spec.spec.columns;
        let fifo = m.instance("u_fifo", StreamFifo::registers(8 * columns, INSIDE));
        m.connect(fifo.clear_i, io.clear_i);
        m.connect_stream(&io.weights, &fifo.output);
        m.unused(fifo.input.ready);
        m.unused(fifo.level_o);
        m.unused(fifo.almost_full_o);

        m.comment("Rows that are inside: one begins only if there is a place for it at the end.");
        let reads = m.net("reads", bit());
        let count = uint(bits_for(INSIDE.into()));
        let inside = m.reg_init("inside_q", count, 0);
        let leaves = m.wire("leaves", io.weights.fire());
        let moved = inside.q.wrapping_add(reads.extend(count.width)).wrapping_sub(leaves.extend(count.width));
        inside.next(mux(io.clear_i, count.lit(0), moved));

        m.comment("Positions.");
        let width = bits_for(spec.slices().max(spec.panels()).into());
        let (slices, panels) = (fit(io.slices_i, width), fit(io.panels_i, width));
        let size = WalkSize {
            groups: mux(io.values_i, slices, panels).extend(16),
            tiles: m.wire("tiles", mux(io.values_i, panels, slices)),
            wide: Some(bit().lit(1)),
        };
        let go = WalkMoves { clear: io.clear_i, begin: io.begin_i, moves: reads };
        let rows = io.rest_i.ty().lit(spec.spec.rows);
        let walk = Walk::new(m, "walk", size, go, |last_group, last_tile| {
            mux(mux(io.values_i, last_tile, last_group), io.rest_i, rows)
        });
        m.unused(walk.first_tile);
        m.unused(walk.last_inside);
        let group = m.reg("group_q", uint(width));
        let zero = uint(width).lit(0);
        group.next(select(&[(io.begin_i, zero), (walk.group_ends, group.q.wrapping_add(1))], group.q));
        let panel = m.wire("panel", mux(io.values_i, walk.tile, group.q));
        let slice = m.wire("slice", mux(io.values_i, group.q, walk.tile));
        let waiting = m.reg_init("waiting_q", bit(), 0);
        let taken = m.wire("taken", io.access.fire());
        m.connect(reads, walk.runs & inside.q.lt(INSIDE) & (!waiting.q | taken) & !io.begin_i & !io.clear_i);
        waiting.next((reads | (waiting.q & !taken)) & !io.clear_i);
        m.connect(io.read_o, reads);
        let first = panel.shl(spec.spec.rows.trailing_zeros());
        let position_width = spec.position().width;
        m.connect(io.position_o, fit(first, position_width).wrapping_add(fit(walk.inside, position_width)));

        m.comment("Accesses, and which part of a row is meant.");
        let high = m.reg("high_q", bit());
        high.next_when(reads, !walk.low_weights);
        let slice_ty = uint(index_width(spec.slices().into()));
        let part = m.reg("slice_q", slice_ty);
        part.next_when(reads, fit(slice, slice_ty.width));
        m.connect_pairs([
            (io.access.valid, waiting.q),
            (io.access.write, bit().lit(0)),
            (io.access.value, io.values_i),
            (io.access.high, high.q),
            (io.access.low, !high.q),
            (io.access.row, io.row_i),
        ]);
        let shown_high = m.reg("shown_high_q", bit());
        let shown_part = m.reg("shown_slice_q", slice_ty);
        shown_high.next(high.q);
        shown_part.next(part.q);
        let all = m.grid("element", uint(16), spec.slices(), columns);
        m.for_each("slices", spec.slices(), |m, s| {
            m.for_each("columns", columns, |m, c| m.connect(all.at((s, c)), io.data_i.at(s * columns + c)));
        });
        let bytes = m.nets("weight", uint(8), columns);
        m.for_each("bytes", columns, |m, c| {
            let element = m.wire("element_here", all.at((shown_part.q, c)));
            m.connect(bytes.at(c), mux(shown_high.q, element.slice(8..16), element.slice(0..8)));
        });
        m.connect(fifo.input.valid, io.data_valid_i);
        m.connect(fifo.input.data.data, bytes.packed());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(3)
    }
}
