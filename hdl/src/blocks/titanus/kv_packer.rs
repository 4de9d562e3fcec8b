//! KV packer: quantized tiles become a stream of bits in whole blocks for off-chip memory.
//!
//! A tile is cut into chunks of at most one block: the token's index, labels and values; when levels open, the mask of their
//! lanes and the first half of the records; and the other records. The first stage builds one chunk a cycle, without gaps;
//! the second shifts it behind what waits in the open block. The format is in docs/blocks/titanus-format.md.

use serde::{Deserialize, Serialize};

use super::{RECORD_BITS, chunk_bits, first_records, quantized_tile};
use crate::blocks::common::{Compactor, CompactorPorts, Pipeline};
use crate::lang::{
    About, Block, CatalogBlock, Fsm, Module, OldInStream, OldOutStream, OldParameter, ParamError, Proof, Signal, bit,
    bits_for, cat, ensure_param, index_width, mux, old_parameters, ports, select, stream, uint,
};

/// Version of the format.
pub(crate) const VERSION: u32 = 1;

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvPacker {
    /// Channels of a tile.
    pub lanes: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl KvPacker {
    fn block_bits(&self) -> u32 {
        8 * self.block_bytes
    }
}

/// The checks that packer and unpacker share.
pub(super) fn check_format(lanes: u32, block_bytes: u32) -> Result<(), ParamError> {
    ensure_param("lanes", lanes, 2..=64)?;
    // A chunk fits a block, so that at most one block is completed a cycle.
    ensure_param("block_bytes", block_bytes, chunk_bits(lanes).div_ceil(8)..=256)
}

ports! {
    /// Ports of [`KvPacker`].
    pub struct KvPackerPorts(p: &KvPacker) {
        /// Quantized tiles; `last` ends the stream of bits.
        tile: OldInStream = quantized_tile(p.lanes),
        /// Blocks; `last` marks the final one of a stream, filled up with zeros.
        block: OldOutStream = stream().field("data", uint(p.block_bits())).field("last", bit()),
    }
}

old_parameters!(KvPacker);

impl Block for KvPacker {
    type Ports = KvPackerPorts;
    const ABOUT: About = About {
        name: "kv_packer",
        summary: "packs quantized tiles into blocks of bytes without gaps",
        contract: "the blocks, byte 0 in the low bits, are the stream of docs/blocks/titanus-format.md. A tile takes 1 cycle, one more\n\
            when it opens levels, and one more when it opens more than half of its lanes (rounded up); the first tile of a\n\
            stream takes one more for the header. No other cycle is lost while blocks are taken.",
        reference: "Titanus, section 3.1 (transferred data); this project's byte format",
    };

    fn module_name(&self) -> String {
        format!("kv_packer_l{}_b{}", self.lanes, self.block_bytes)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        check_format(self.lanes, self.block_bytes)
    }

    fn build(&self, m: &mut Module, io: &KvPackerPorts) {
        let fsm = m.fsm("state", &["Header", "Token", "Levels", "MoreLevels"]);
        let full = m.net("chunk_accepted", bit());
        let control = Pipeline::new(m, &["chunk"], io.tile.valid, full);
        let step = control.stages[0].load;
        let chunk = self.chunk(m, io, &fsm);
        m.connect(io.tile.ready, control.ready & chunk.ends_tile);
        let ended = m.wire("tile_ended", step & chunk.ends_tile);
        let last = io.tile.field("last");
        fsm.goto("Header", step, "Token");
        for state in ["Token", "Levels", "MoreLevels"] {
            fsm.goto(state, ended & last, "Header");
            fsm.goto(state, ended, "Token");
        }
        fsm.goto("Token", step, "Levels");
        fsm.goto("Levels", step, "MoreLevels");
        let held = |m: &mut Module, name: &str, value: Signal| {
            let register = m.reg(name, value.ty());
            register.next_when(step, value);
            register.q
        };
        let chunk = Chunk {
            data: held(m, "chunk_q", chunk.data),
            length: held(m, "length_q", chunk.length),
            ends_tile: held(m, "ends_q", chunk.ends_tile & last),
        };
        self.append(m, io, control.stages[0].valid, &chunk, full);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("cycles_per_tile".into(), 1), ("cycles_per_opening_tile".into(), 3)]
    }
}

/// Bits in a row.
struct Chunk {
    data: Signal,
    length: Signal,
    /// Nothing of the tile is left; after the chunk register: nothing of the stream.
    ends_tile: Signal,
}

impl KvPacker {
    /// The chunk that is next of the offered tile.
    fn chunk(&self, m: &mut Module, io: &KvPackerPorts, fsm: &Fsm) -> Chunk {
        let (lanes, width) = (self.lanes, chunk_bits(self.lanes));
        let length_type = uint(bits_for(u64::from(width)));
        let bits = io.tile.field("bits");
        let initial = io.tile.field("initial");
        let fit = |s: Signal| if s.width() > width { s.truncate(width) } else { s.extend(width) };
        let fit_length = |s: Signal| {
            if s.width() > length_type.width { s.truncate(length_type.width) } else { s.extend(length_type.width) }
        };

        // Labels of the lanes with index 1, then values, behind each other.
        let labels: CompactorPorts = m.instance("u_labels", Compactor { lanes, width: 1 });
        m.connect_each("label_mask", labels.mask_i, io.tile.array("index"));
        m.connect_each("label", labels.data_i, io.tile.array("label"));
        let elements = m.wire("elements", labels.count_o);
        let nonzero = crate::blocks::common::number_format::count_ones(&io.tile.array("label").elements());
        let nonzero = m.wire("nonzero", nonzero);
        let choice = m.wire("bits_choice", bits.wrapping_sub(2).truncate(3));
        let values = io.tile.array("values");
        let dense: Vec<Signal> = (2..=8)
            .map(|b| {
                let parts: Vec<_> = (0..lanes).rev().map(|i| values.at(i).slice(0..b)).collect();
                cat(&parts).extend(8 * lanes)
            })
            .collect();
        let dense = m.lookup("dense_values", choice, &dense);
        let behind = m.wire("values_behind_labels", dense.extend(9 * lanes).shl_by(elements));
        let body = m.wire("body", behind | labels.data_o.packed().extend(9 * lanes));
        let value_bits: Vec<Signal> = (2..=8).map(|b| fit_length((nonzero * b).extend(nonzero.width() + 4))).collect();
        let value_bits = m.lookup("value_bits", choice, &value_bits);

        // Records of the lanes that open a level.
        let records: CompactorPorts = m.instance("u_records", Compactor { lanes, width: RECORD_BITS });
        let open = io.tile.array("open");
        m.for_each("records", lanes, |m, lane| {
            m.connect(records.mask_i.at(lane), open.at(lane));
            let zero = io.tile.array("zero").at(lane).as_uint();
            m.connect(records.data_i.at(lane), cat(&[zero, io.tile.array("range").at(lane)]));
        });
        let opened = m.wire("opened", records.count_o);
        let first = first_records(lanes);
        let any = m.wire("opens", opened.any());
        let more = m.wire("more_records", opened.gt(first));
        let packed = m.wire("records", records.data_o.packed());
        let head = packed.slice(0..first * RECORD_BITS);
        let tail = packed.slice(first * RECORD_BITS..lanes * RECORD_BITS);
        let shown = m.wire("first_records", mux(more, opened.ty().lit(first), opened));
        let rest = m.wire("other_records", opened.wrapping_sub(first));
        let record_length = |s: Signal| fit_length((s * RECORD_BITS).extend(s.width() + 5));

        let header = cat(&[uint(8).lit(lanes), uint(4).lit(VERSION), bits]);
        let kind = m.wire("kind", cat(&[initial | any, !initial]));
        let token = cat(&[body, io.tile.array("index").packed(), kind]);
        let levels = cat(&[head, open.packed()]);
        let (is_header, is_token) = (fsm.is("Header"), fsm.is("Token"));
        let is_levels = fsm.is("Levels");
        let data = select(
            &[
                (is_header, fit(header)),
                (is_token & initial, fit(kind)),
                (is_token, fit(token)),
                (is_levels, fit(levels)),
            ],
            fit(tail),
        );
        let token_length = fit_length(elements).wrapping_add(value_bits).wrapping_add(2 + lanes);
        let length = select(
            &[
                (is_header, length_type.lit(16)),
                (is_token & initial, length_type.lit(2)),
                (is_token, token_length),
                (is_levels, record_length(shown).wrapping_add(lanes)),
            ],
            record_length(rest),
        );
        let token_ends = is_token & !initial & !any;
        let ends = token_ends | (is_levels & !more) | fsm.is("MoreLevels");
        Chunk { data: m.wire("chunk", data), length: m.wire("length", length), ends_tile: m.wire("ends_tile", ends) }
    }

    /// Appends a chunk to the open block; a full block leaves.
    fn append(&self, m: &mut Module, io: &KvPackerPorts, valid: Signal, chunk: &Chunk, accepted: Signal) {
        let (block, width) = (self.block_bits(), chunk_bits(self.lanes));
        let open = m.reg_init("open_q", uint(block), 0);
        let used = m.reg_init("used_q", uint(index_width(u64::from(block))), 0);
        // The stream has ended, but some of its bits did not fit the block that left last.
        let flush = m.reg_init("flush_q", bit(), 0);
        let out_ready = m.net("out_ready", bit());
        let shifted = m.wire("shifted", chunk.data.extend(block + width).shl_by(used.q));
        let joined = m.wire("joined", shifted.slice(0..block) | open.q);
        let spill = m.wire("spill", shifted.slice(block..block + width).extend(block));
        let end = m.wire("end_at", used.q + chunk.length);
        let complete = m.wire("complete", end.ge(block));
        let over = m.wire("over", end.gt(block));
        let emits = m.wire("emits", complete | chunk.ends_tile);
        let goes = m.wire("goes", valid & !flush.q & (!emits | out_ready));
        m.connect(accepted, !flush.q & (!emits | out_ready));
        let flushed = m.wire("flushed", flush.q & out_ready);
        let emptied = m.wire("emptied", flushed | (goes & chunk.ends_tile & !over));
        let next = select(&[(emptied, open.q.ty().lit(0)), (goes & complete, spill), (goes, joined)], open.q);
        open.next(next);
        let end = end.wrapping_sub(mux(complete, end.ty().lit(block), end.ty().lit(0))).truncate(used.q.width());
        used.next(select(&[(emptied, used.q.ty().lit(0)), (goes, end)], used.q));
        flush.next((goes & chunk.ends_tile & over) | (flush.q & !out_ready));

        let offered = m.wire("offered", flush.q | (valid & emits));
        let out = Pipeline::new(m, &["block"], offered, io.block.ready);
        m.connect(out_ready, out.ready);
        m.connect(io.block.valid, out.stages[0].valid);
        let data = m.reg("block_q", uint(block));
        data.next_when(out.stages[0].load, mux(flush.q, open.q, joined));
        m.connect(io.block.field("data"), data.q);
        let last = m.reg("last_q", bit());
        last.next_when(out.stages[0].load, flush.q | (chunk.ends_tile & !over));
        m.connect(io.block.field("last"), last.q);
        m.formal(|m| {
            self.assume_well_formed(m, io);
            // The bits above the fill level are zero: chunks never mix.
            let above = m.wire("formal_above", open.q.shr_by(used.q));
            m.assert_always("nothing_beyond_fill", !above.any());
            m.assert_always("flush_has_bits", !flush.q | used.q.any());
            // Bits that came in and have not left are the fill level: none is lost or written twice.
            let ty = uint(12);
            let balance = m.reg_init("formal_balance_q", ty, 0);
            let came = mux(goes, chunk.length.extend(12), ty.lit(0));
            let left = mux(goes & complete, ty.lit(block), ty.lit(0));
            let next = balance.q.wrapping_add(came).wrapping_sub(left);
            balance.next(mux(emptied, ty.lit(0), next));
            m.assert_always("bits_conserved", balance.q.eq(used.q));
            m.cover("two_blocks_for_the_end", flushed);
        });
    }
}

impl KvPacker {
    /// Formal: tiles as a quantization unit makes them.
    fn assume_well_formed(&self, m: &mut Module, io: &KvPackerPorts) {
        let bits = io.tile.field("bits");
        m.assume("known_width", bits.ge(2) & bits.le(8));
        let labels = io.tile.array("label");
        let nonzero = crate::blocks::common::number_format::count_ones(&labels.elements());
        let nonzero = m.wire("formal_nonzero", nonzero);
        for lane in 0..self.lanes {
            let value = io.tile.array("values").at(lane);
            m.assume(&format!("label_has_index_{lane}"), !labels.at(lane) | io.tile.array("index").at(lane));
            m.assume(&format!("value_has_label_{lane}"), nonzero.gt(lane) | !value.any());
            m.assume(&format!("value_fits_{lane}"), !value.shr_by(bits).any());
        }
    }
}

impl Default for KvPacker {
    fn default() -> Self {
        Self { lanes: 32, block_bytes: 64 }
    }
}

/// Parameters of both directions.
pub(super) const OLD_PARAMETERS: &[OldParameter] = &[
    OldParameter { name: "lanes", allowed: "2 to 64", meaning: "channels of a tile" },
    OldParameter {
        name: "block_bytes",
        allowed: "max(2 + 10 lanes, lanes + 18 ceil(lanes / 2)) / 8, rounded up, to 256",
        meaning: "bytes of a block",
    },
];

impl CatalogBlock for KvPacker {
    const OLD_PARAMETERS: &'static [OldParameter] = OLD_PARAMETERS;

    fn configurations() -> Vec<Self> {
        [(2, 3), (5, 8)].map(|(lanes, block_bytes)| Self { lanes, block_bytes }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { lanes: 2, block_bytes: 3 }, depth: 4, cover_depth: 6, induction: true }]
    }
}
