//! Proofs of the packer: its blocks are equal to a reference's, which writes one field after the other into a queue of
//! bits and knows of no chunks. A tile enters the queue when it is offered.

use super::super::RECORD_BITS;
use super::super::format::{HEADER_BITS, VERSION, first_records};
use super::{Chunk, KvPacker, KvPackerPorts};
use crate::blocks::common::arith::popcount::ones;
use crate::lang::{Bundle, Fsm, Module, Signal, Stream, Type, bit, bits_for, cat, mux, select, uint};

/// Blocks that fit the queue: more than the design and a tile hold together.
const PLACES: u32 = 8;

/// Bits that the design holds, from the oldest one on, for the induction.
pub(super) struct Inside<'a> {
    pub(super) fsm: &'a Fsm,
    pub(super) open: Signal,
    pub(super) used: Signal,
    pub(super) flush: Signal,
    pub(super) chunk_valid: Signal,
    pub(super) chunk: &'a Chunk,
}

/// Bits in a row, and for each block of them whether it ends its stream.
#[derive(Clone, Copy)]
struct Queue {
    bits: Signal,
    length: Signal,
    ends: Signal,
}

/// Bits of the offered tile before each of its chunks.
struct Before {
    header: Signal,
    token: Signal,
    levels: Signal,
    /// The other levels.
    more: Signal,
}

/// The offered tile's stream.
#[derive(Clone, Copy)]
pub(super) struct OfStream {
    /// The tile is its first one.
    first: Signal,
    /// Bits of a value.
    width: Signal,
}

impl KvPacker {
    /// The reference fits a proof for few lanes only.
    pub(super) fn has_reference(&self) -> bool {
        self.lanes <= 4
    }

    fn length_type(&self) -> Type {
        uint(bits_for(u64::from(PLACES * self.block_bits())))
    }

    fn empty(&self) -> Queue {
        let bits = uint(PLACES * self.block_bits()).lit(0);
        Queue { bits, length: self.length_type().lit(0), ends: uint(PLACES).lit(0) }
    }

    /// The queue with the low `length` bits of `field` after it, where `enable` is high.
    fn put(&self, m: &mut Module, name: &str, queue: Queue, field: Signal, length: Signal, enable: Signal) -> Queue {
        let field = (field & enable.repeat(field.width())).extend(queue.bits.width());
        let bits = m.wire(&format!("formal_{name}"), queue.bits | field.shl_by(queue.length));
        let added = mux(enable, length.extend(queue.length.width()), queue.length.ty().lit(0));
        let length = m.wire(&format!("formal_{name}_length"), queue.length.wrapping_add(added));
        Queue { bits, length, ends: queue.ends }
    }

    /// The queue filled up to whole blocks, the last of which ends its stream, where `enable` is high.
    fn close(&self, m: &mut Module, name: &str, queue: Queue, enable: Signal) -> Queue {
        let block = self.block_bits();
        let mut ends = Vec::new();
        let mut whole = queue.length.ty().lit(0);
        for place in (0..PLACES).rev() {
            ends.push(enable & queue.length.gt(place * block) & queue.length.le((place + 1) * block));
            whole = mux(
                queue.length.gt(place * block),
                mux(whole.any(), whole, whole.ty().lit((place + 1) * block)),
                whole,
            );
        }
        let ends = m.wire(&format!("formal_{name}_ends"), queue.ends | cat(&ends));
        Queue { length: m.wire(&format!("formal_{name}_closed"), mux(enable, whole, queue.length)), ends, ..queue }
    }

    /// The bits of the offered tile, and how many come before each of its chunks.
    fn reference(&self, m: &mut Module, io: &KvPackerPorts, OfStream { first, width }: OfStream) -> (Queue, Before) {
        let (tile, yes) = (&io.tile.data, bit().lit(1));
        let one = uint(1).lit(1);
        let mut queue = self.empty();
        let none = queue.length;
        for (name, value, length) in
            [("width", tile.bits, 4), ("version", uint(4).lit(VERSION), 4), ("lanes", uint(8).lit(self.lanes), 8)]
        {
            queue = self.put(m, name, queue, value, uint(4).lit(length), first);
        }
        let before_token = queue.length;
        let opens = m.wire("formal_opens", tile.open.packed().any());
        let token = m.wire("formal_is_token", !tile.initial);
        let levels = m.wire("formal_has_levels", tile.initial | opens);
        queue = self.put(m, "token", queue, token, one, yes);
        queue = self.put(m, "levels", queue, levels, one, yes);
        for lane in 0..self.lanes {
            queue = self.put(m, &format!("index_{lane}"), queue, tile.index.at(lane), one, token);
        }
        for lane in 0..self.lanes {
            queue = self.put(m, &format!("label_{lane}"), queue, tile.label.at(lane), one, token & tile.index.at(lane));
        }
        let mut values = tile.values.packed();
        for lane in 0..self.lanes {
            let there = m.wire(&format!("formal_there_{lane}"), token & tile.index.at(lane) & tile.label.at(lane));
            queue = self.put(m, &format!("value_{lane}"), queue, values.slice(0..8), width, there);
            if lane + 1 < self.lanes {
                let left = 8 * (self.lanes - lane - 1);
                let rest = mux(there, values.slice(8..8 + left), values.slice(0..left));
                values = m.wire(&format!("formal_values_{lane}"), rest);
            }
        }
        let before_levels = queue.length;
        for lane in 0..self.lanes {
            queue = self.put(m, &format!("open_{lane}"), queue, tile.open.at(lane), one, levels);
        }
        let mut before_more = queue.length;
        for lane in 0..self.lanes {
            let record = cat(&[tile.zero.at(lane).as_uint(), tile.range.at(lane)]);
            let earlier: Vec<_> = (0..lane).map(|l| tile.open.at(l)).collect();
            let open = m.wire(&format!("formal_open_here_{lane}"), levels & tile.open.at(lane));
            if lane >= first_records(self.lanes) {
                // The records that do not go along with the mask begin here.
                let begins = ones(m, &format!("formal_earlier_{lane}"), &earlier).eq(first_records(self.lanes));
                before_more = mux(begins & open, queue.length, before_more);
            }
            queue = self.put(m, &format!("record_{lane}"), queue, record, uint(5).lit(RECORD_BITS), open);
        }
        let more = m.wire("formal_before_more", before_more);
        (queue, Before { header: none, token: before_token, levels: before_levels, more })
    }

    /// Tiles as a quantization unit makes them.
    pub(super) fn assume_well_formed(&self, m: &mut Module, io: &KvPackerPorts) -> OfStream {
        let tile = &io.tile;
        let first = m.reg_init("formal_first_q", bit(), 1);
        first.next_when(tile.fire(), tile.last);
        let bits = m.reg("formal_bits_q", tile.bits.ty());
        bits.next_when(first.q, tile.bits);
        let width = m.wire("formal_bits", mux(first.q, tile.bits, bits.q));
        m.assume("known_width", width.ge(2) & width.le(8));
        let counted = m.wire("formal_counted", tile.label.packed() & tile.index.packed());
        let counted: Vec<_> = (0..self.lanes).map(|lane| counted.bit(lane)).collect();
        let nonzero = ones(m, "formal_nonzero", &counted);
        m.for_each("formal_lanes", self.lanes, |m, lane| {
            let value = tile.values.at(lane);
            m.assume("value_has_label", nonzero.gt(lane.value(nonzero.width())) | !value.any());
            m.assume("value_fits", !value.shr_by(width).any());
        });
        OfStream { first: first.q, width }
    }

    pub(super) fn prove_values(&self, m: &mut Module, io: &KvPackerPorts, stream: OfStream, inside: &Inside<'_>) {
        let block = self.block_bits();
        let first = stream.first;
        let seen = m.reg_init("formal_seen_q", bit(), 0);
        seen.next(io.tile.valid & !io.tile.ready);
        assume_stable(m, io, seen.q);
        let (tile, before) = self.reference(m, io, stream);

        let state = self.empty();
        let [bits, length, ends] = [("bits", state.bits), ("length", state.length), ("ends", state.ends)]
            .map(|(name, value)| m.reg_init(&format!("formal_queue_{name}_q"), value.ty(), 0));
        let leaves = m.wire("formal_leaves", io.block.fire());
        let shift = mux(leaves, self.length_type().lit(block), self.length_type().lit(0));
        let shift = m.wire("formal_shift", shift);
        let shorter = Queue {
            bits: m.wire("formal_shorter", bits.q.shr_by(shift)),
            length: m.wire("formal_shorter_length", length.q.wrapping_sub(shift)),
            ends: m.wire("formal_shorter_ends", ends.q.shr_by(leaves)),
        };
        let new = m.wire("formal_new", io.tile.valid & !seen.q);
        let longer = self.put(m, "longer", shorter, tile.bits, tile.length, bit().lit(1));
        let longer = self.close(m, "longer", longer, io.tile.last);
        bits.next(mux(new, longer.bits, shorter.bits));
        length.next(mux(new, longer.length, shorter.length));
        ends.next(mux(new, longer.ends, shorter.ends));
        let there = m.wire("formal_block_there", bits.q.slice(0..block).eq(io.block.data.data) & length.q.ge(block));
        m.assert_always("block_is_what_the_reference_wrote", !io.block.valid | there);
        m.assert_always("last_as_the_reference_says", !io.block.valid | io.block.last.eq(ends.q.bit(0)));

        // For the induction: the same bits from the design's registers, and the rest of the tile that is offered.
        let one_block = self.length_type().lit(block);
        let held = self.put(m, "held_block", self.empty(), io.block.data.data, one_block, io.block.valid);
        let held = Queue { ends: (io.block.valid & io.block.last).extend(PLACES), ..held };
        let held = self.put(m, "held_open", held, inside.open, inside.used, bit().lit(1));
        let held = self.close(m, "held_open", held, inside.flush);
        let held = self.put(m, "held_chunk", held, inside.chunk.data, inside.chunk.length, inside.chunk_valid);
        let held = self.close(m, "held_chunk", held, inside.chunk_valid & inside.chunk.ends);
        let consumed = [
            ("Header", before.header),
            ("Token", before.token),
            ("Levels", before.levels),
            ("MoreLevels", before.more),
        ];
        let consumed = consumed.map(|(state, bits)| (inside.fsm.is(state), bits));
        let consumed = m.wire("formal_consumed", select(&consumed, before.header));
        let rest = m.wire("formal_rest", tile.bits.shr_by(consumed));
        let rest_length = m.wire("formal_rest_length", tile.length.wrapping_sub(consumed));
        let held = self.put(m, "held_rest", held, rest, rest_length, seen.q);
        let held = self.close(m, "held_rest", held, seen.q & io.tile.last);
        let same = held.bits.eq(bits.q) & held.length.eq(length.q) & held.ends.eq(ends.q);
        m.assert_always("design_holds_the_queue", same);
        let begins = inside.fsm.is("Header");
        let between = begins | inside.fsm.is("Token");
        m.assert_always("header_comes_first", !begins | first);
        m.assert_always("tiles_are_whole", seen.q | (between & begins.eq(first)));
        // The state machine never waits in a chunk that does not exist.
        let levels = !inside.fsm.is("Levels") | io.tile.initial | io.tile.open.packed().any();
        m.assert_always("levels_are_there", !seen.q | levels);
        let more = ones(m, "formal_open", &io.tile.open.elements()).gt(first_records(self.lanes));
        m.assert_always("more_levels_are_there", !(seen.q & inside.fsm.is("MoreLevels")) | more);
        let header = uint(HEADER_BITS).lit(self.lanes << 8 | VERSION << 4 | 3);
        let whole = io.block.valid & io.block.last & io.block.data.data.slice(0..HEADER_BITS).eq(header);
        m.cover("a_stream_of_one_block", whole);
    }
}

/// The producer keeps to the protocol: an offered beat stays until it is taken.
fn assume_stable(m: &mut Module, io: &KvPackerPorts, waits: Signal) {
    let Stream { valid, data, .. } = &io.tile;
    let packed = m.wire("formal_tile", data.pack());
    let before = m.reg("formal_tile_q", packed.ty());
    before.next(packed);
    m.assume("offers_stay", !waits | (*valid & packed.eq(before.q)));
}
