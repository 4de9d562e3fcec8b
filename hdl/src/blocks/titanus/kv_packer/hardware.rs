//! Chunks and their beats.

use super::super::format::{HEADER_BITS, VERSION, by_width, chunk_bits, first_records, length_type, resized};
use super::super::{ByteBlock, RECORD_BITS, bits_type, ones_in};
use super::properties::Inside;
use super::{Checksum, Chunk, KvPacker, KvPackerPorts};
use crate::blocks::common::{Compactor, CompactorPorts, Pipeline};
use crate::lang::{About, Block, Bundle, Fsm, Module, Signal, Timing, bit, cat, index_width, mux, select, uint};

impl Block for KvPacker {
    type Ports = KvPackerPorts;
    const ABOUT: About = About {
        name: "kv_packer",
        summary: "packs quantized tiles into blocks of bytes without gaps",
        contract: "The blocks, byte 0 in the low bits, are the stream of docs/blocks/titanus-format.md. A tile\n\
            takes 1 cycle, one more when it opens levels, and one more when it opens more than half of its lanes\n\
            (rounded up). The first tile of a stream takes one more for the header. No other cycle is lost while\n\
            blocks are taken. While tail.valid is high, the blocks that left and tail.data are a whole stream of\n\
            the tiles taken so far. A label counts where index is 1. A width outside of 2 to 8 goes into the header\n\
            as it is, so that kv_unpacker refuses the stream. A tile with more values than labels, or wider ones,\n\
            makes the bytes of its stream undefined, up to the last block; the next stream is right. Reset drops\n\
            the stream: the next tile begins a new one.",
        reference: "Titanus, section 3.1 (transferred data); this project's byte format",
    };

    fn build(&self, m: &mut Module, io: &KvPackerPorts) {
        let fsm = m.fsm("state", &["Header", "Token", "Levels", "MoreLevels"]);
        let accepted = m.net("chunk_accepted", bit());
        let control = Pipeline::new(m, &["chunk"], io.tile.valid, accepted);
        let step = control.stages[0].load;
        let chunk = self.chunk(m, io, &fsm);
        m.connect(io.tile.ready, control.ready & chunk.ends);
        let ended = m.wire("tile_ended", step & chunk.ends);
        fsm.goto("Header", step, "Token");
        for state in ["Token", "Levels", "MoreLevels"] {
            fsm.goto(state, ended & io.tile.last, "Header");
            fsm.goto(state, ended, "Token");
        }
        fsm.goto("Token", step, "Levels");
        fsm.goto("Levels", step, "MoreLevels");
        let chunk = Chunk { ends: chunk.ends & io.tile.last, ..chunk }.hold(m, "chunk", step);
        self.append(m, io, &fsm, control.stages[0].valid, &chunk, accepted);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
            .phase("opening_tile", 3, "from a tile that opens more than half of its lanes to the next tile")
            .phase("header", 1, "from the first tile of a stream to its first chunk")
    }
}

impl KvPacker {
    pub(super) fn block_bits(&self) -> u32 {
        8 * self.block_bytes
    }

    /// The chunk that is next of the offered tile.
    fn chunk(&self, m: &mut Module, io: &KvPackerPorts, fsm: &Fsm) -> Chunk {
        let (lanes, tile) = (self.lanes, &io.tile.data);
        let (width, length_type) = (chunk_bits(lanes), length_type(lanes));
        let fit_length = |length: Signal| resized(length, length_type.width);

        let bits = m.reg("bits_q", bits_type());
        // The last value that it takes is the first tile's.
        bits.next_when(fsm.is("Header"), tile.bits);
        m.comment("Labels of the lanes with index 1, then values, one after the other.");
        let labels: CompactorPorts = m.instance("u_labels", Compactor { lanes, width: 1 });
        m.connect_each("label_mask", labels.mask_i, tile.index);
        let label = m.wire("label", tile.label.packed() & tile.index.packed());
        m.connect(labels.data_i.packed(), label);
        let elements = m.wire("elements", labels.count_o);
        let nonzero = ones_in(m, "nonzero", label);
        let dense = self.dense_values(m, io, bits.q);
        let behind = m.wire("values_behind_labels", dense.extend(9 * lanes).shl_by(elements));
        let body = m.wire("body", behind | labels.data_o.packed().extend(9 * lanes));
        let value_bits = by_width(m, "value_bits", bits.q, |b| fit_length((nonzero * b).extend(nonzero.width() + 4)));

        m.comment("Records of the lanes that open a level.");
        let records: CompactorPorts = m.instance("u_records", Compactor { lanes, width: RECORD_BITS });
        m.connect_each("record_mask", records.mask_i, tile.open);
        m.for_each("records", lanes, |m, lane| {
            m.connect(records.data_i.at(lane), cat(&[tile.zero.at(lane).as_uint(), tile.range.at(lane)]));
        });
        let opened = m.wire("opened", records.count_o);
        let split = first_records(lanes);
        let any = m.wire("opens", opened.any());
        let more = m.wire("more_records", opened.gt(split));
        let packed = records.data_o.packed();
        let head = packed.slice(0..split * RECORD_BITS);
        let tail = packed.slice(split * RECORD_BITS..lanes * RECORD_BITS);
        let shown = m.wire("first_records", mux(more, opened.ty().lit(split), opened));
        let rest = m.wire("other_records", opened.wrapping_sub(split));
        let record_length = |records: Signal| fit_length((records * RECORD_BITS).extend(records.width() + 5));

        let header = cat(&[uint(8).lit(lanes), uint(4).lit(VERSION), tile.bits]);
        let kind = m.wire("kind", cat(&[tile.initial | any, !tile.initial]));
        let token = cat(&[body, tile.index.packed(), kind]);
        let levels = cat(&[head, tile.open.packed()]);
        let (is_header, is_token, is_levels) = (fsm.is("Header"), fsm.is("Token"), fsm.is("Levels"));
        let fit = |bits: Signal| resized(bits, width);
        let data = select(
            &[
                (is_header, fit(header)),
                (is_token & tile.initial, fit(kind)),
                (is_token, fit(token)),
                (is_levels, fit(levels)),
            ],
            fit(tail),
        );
        let token_length = fit_length(elements).wrapping_add(value_bits).wrapping_add(2 + lanes);
        let length = select(
            &[
                (is_header, length_type.lit(HEADER_BITS)),
                (is_token & tile.initial, length_type.lit(2)),
                (is_token, token_length),
                (is_levels, record_length(shown).wrapping_add(lanes)),
            ],
            record_length(rest),
        );
        let token_ends = is_token & !tile.initial & !any;
        let ends = token_ends | (is_levels & !more) | fsm.is("MoreLevels");
        Chunk { data: m.wire("chunk", data), length: m.wire("length", length), ends: m.wire("ends_tile", ends) }
    }

    /// The values, each with as many bits as the stream has for one, without gaps. Eight values of b bits are b bytes:
    /// groups of eight are equal.
    fn dense_values(&self, m: &mut Module, io: &KvPackerPorts, bits: Signal) -> Signal {
        let groups = self.lanes.div_ceil(8);
        let padded = io.tile.values.packed().extend(64 * groups);
        let dense: Vec<_> = (2..8).map(|b| m.nets(&format!("eight_of_{b}"), uint(8 * b), groups)).collect();
        m.for_each("groups", groups, |m, group| {
            for (b, dense) in (2..8).zip(&dense) {
                let values: Vec<_> = (0..8).rev().map(|i| padded.slice_at(group * 64 + i * 8, b)).collect();
                m.connect(dense.at(group), cat(&values));
            }
        });
        let all = (2..8).zip(dense).map(|(b, dense)| m.wire(&format!("values_of_{b}"), dense.packed()));
        let all: Vec<_> = all.chain([padded]).collect();
        by_width(m, "dense_values", bits, |b| resized(all[b as usize - 2], 8 * self.lanes))
    }

    /// Appends a chunk to the open block; a full block leaves.
    fn append(&self, m: &mut Module, io: &KvPackerPorts, fsm: &Fsm, valid: Signal, chunk: &Chunk, accepted: Signal) {
        let (block, width) = (self.block_bits(), chunk_bits(self.lanes));
        let open = m.reg_init("open_q", uint(block), 0);
        let used = m.reg_init("used_q", uint(index_width(u64::from(block))), 0);
        m.comment("The stream has ended, but some of its bits did not fit the block that left last.");
        let flush = m.reg_init("flush_q", bit(), 0);
        let out_ready = m.net("out_ready", bit());
        let shifted = m.wire("shifted", chunk.data.extend(block + width).shl_by(used.q));
        let joined = m.wire("joined", shifted.slice(0..block) | open.q);
        let spill = m.wire("spill", shifted.slice(block..block + width).extend(block));
        let end = m.wire("end_at", used.q + chunk.length);
        let complete = m.wire("complete", end.ge(block));
        let over = m.wire("over", end.gt(block));
        let emits = m.wire("emits", complete | chunk.ends);
        let goes = m.wire("goes", valid & !flush.q & (!emits | out_ready));
        m.connect(accepted, !flush.q & (!emits | out_ready));
        let flushed = m.wire("flushed", flush.q & out_ready);
        let emptied = m.wire("emptied", flushed | (goes & chunk.ends & !over));
        open.next(select(&[(emptied, open.q.ty().lit(0)), (goes & complete, spill), (goes, joined)], open.q));
        let end = end.wrapping_sub(mux(complete, end.ty().lit(block), end.ty().lit(0))).truncate(used.q.width());
        used.next(select(&[(emptied, used.q.ty().lit(0)), (goes, end)], used.q));
        flush.next((goes & chunk.ends & over) | (flush.q & !out_ready));

        let offered = m.wire("offered", flush.q | (valid & emits));
        let out = Pipeline::new(m, &["block"], offered, io.block.ready);
        m.connect(out_ready, out.ready);
        m.connect(io.block.valid, out.stages[0].valid);
        // Without a chunk this is the open block as it stands, for the checksum of the tail.
        let data = m.wire("next_block", mux(flush.q | !valid, open.q, joined));
        let last = m.wire("next_last", flush.q | (chunk.ends & !over));
        let load = out.stages[0].load;
        let checksum = self.checksum.then(|| Checksum::new(m, self.block_bytes, data, load, last));
        let held = ByteBlock { data, last, crc: checksum.as_ref().map(|c| c.next) }.hold(m, "block", load);
        io.block.data.drive(m, "block", &held);
        m.connect(io.tail.valid, fsm.is("Token") & !valid & !flush.q);
        m.connect(io.tail.used, used.q);
        m.connect(io.tail.data, open.q);
        if let (Some(port), Some(checksum)) = (io.tail.crc, checksum) {
            m.connect(port, mux(used.q.any(), checksum.next, checksum.before));
        }
        m.formal(|m| {
            let stream = self.assume_well_formed(m, io);
            // The bits above the fill level are zero: chunks never mix.
            let above = m.wire("formal_above", open.q.shr_by(used.q));
            m.assert_always("nothing_beyond_fill", !above.any());
            m.assert_always("flush_has_bits", !flush.q | used.q.any());
            if self.has_reference() {
                let inside = Inside { fsm, open: open.q, used: used.q, flush: flush.q, chunk_valid: valid, chunk };
                self.prove_values(m, io, stream, &inside);
            }
            m.cover("two_blocks_for_the_end", flushed);
        });
    }
}
