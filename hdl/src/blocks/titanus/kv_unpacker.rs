//! KV unpacker: blocks from off-chip memory become quantized tiles again.
//!
//! Two blocks are held; a window of one chunk slides over them. The length of a chunk follows from the chunk itself (ones of
//! the index, of the labels, of the mask of opened levels), so that one chunk a cycle is cut off. The first stage keeps
//! chunks as they came, until a tile is complete; the second brings its parts back to their lanes.

use serde::{Deserialize, Serialize};

use super::kv_packer::{OLD_PARAMETERS, VERSION, check_format};
use super::{RANGE_BITS, RECORD_BITS, bits_type, chunk_bits, first_records, stored_tile};
use crate::blocks::common::number_format::count_ones;
use crate::blocks::common::{Expander, ExpanderPorts, Pipeline, PipelineStage};
use crate::lang::{
    About, Block, CatalogBlock, Fsm, Module, OldInStream, OldOutStream, OldParameter, Out, ParamError, Proof, Signal,
    bit, bits_for, cat, index_width, mux, old_parameters, ports, select, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvUnpacker {
    /// Channels of a tile.
    pub lanes: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl KvUnpacker {
    fn block_bits(&self) -> u32 {
        8 * self.block_bytes
    }
}

ports! {
    /// Ports of [`KvUnpacker`].
    pub struct KvUnpackerPorts(p: &KvUnpacker) {
        /// Blocks; `last` marks the final one of a stream.
        block: OldInStream = stream().field("data", uint(p.block_bits())).field("last", bit()),
        /// Tiles; `first` marks the first one of a stream.
        tile: OldOutStream = stored_tile(p.lanes),
        /// A header had another version or number of lanes, or a stream ended before its last block. Stays until reset.
        error_o: Out = bit(),
    }
}

old_parameters!(KvUnpacker);

impl Block for KvUnpacker {
    type Ports = KvUnpackerPorts;
    const ABOUT: About = About {
        name: "kv_unpacker",
        summary: "cuts blocks of bytes into quantized tiles",
        contract: "the tiles of the stream of docs/blocks/titanus-format.md, in order; values from lane 0 on and 0 above, all else in\n\
            its lane, range and zero 0 where open is 0. A tile takes 1 cycle, one more when it opens levels, and one more when\n\
            it opens more than half of its lanes (rounded up); a stream takes one more for its header and at most one for its\n\
            end. Latency 3 cycles from the block that completes a tile. What follows a damaged stream is undefined.",
        reference: "Titanus, section 4.4 (DQU reconstruction); this project's byte format",
    };

    fn module_name(&self) -> String {
        format!("kv_unpacker_l{}_b{}", self.lanes, self.block_bytes)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        check_format(self.lanes, self.block_bytes)
    }

    fn build(&self, m: &mut Module, io: &KvUnpackerPorts) {
        let fsm = m.fsm("state", &["Header", "Token", "Levels", "MoreLevels"]);
        let view = self.window(m, io);
        let parsed = self.parse(m, &fsm, view.window);
        // The first stage is free when it is not waiting with a complete tile.
        let complete = m.reg_init("complete_q", bit(), 0);
        let moves = m.net("moves", bit());
        let writes = m.wire("writes_tile", !fsm.is("Header") & !parsed.end);
        let cut = m.wire("cut", view.enough & (!writes | !complete.q | moves));
        m.connect(view.cut, cut);
        m.connect(view.length, parsed.length);
        m.connect(view.end, parsed.end);
        let done = m.wire("tile_done", cut & parsed.completes);
        complete.next(done | (complete.q & !moves));
        // A stream ends with kind 0, or with its last bit.
        let over = m.wire("stream_over", view.stream_over);
        for state in ["Header", "Token", "Levels", "MoreLevels"] {
            fsm.goto(state, over, "Header");
        }
        fsm.goto("Header", cut, "Token");
        fsm.goto("Token", cut & parsed.has_levels, "Levels");
        fsm.goto("Levels", cut & parsed.more, "MoreLevels");
        fsm.goto("Levels", cut, "Token");
        fsm.goto("MoreLevels", cut, "Token");
        let error = m.reg_init("error_q", bit(), 0);
        let broken = m.wire("broken", cut & (parsed.bad_header | (parsed.end & !view.last)));
        error.next(error.q | broken);
        m.connect(io.error_o, error.q);
        let stages = self.assemble(m, io, &Assembly { fsm, parsed, cut, done, complete: complete.q, moves });
        m.formal(|m| {
            // Blocks that came in are cut, held or thrown away with the end of their stream: none is lost or cut twice.
            let ty = uint(3);
            let came = m.reg_init("formal_came_q", ty, 0);
            came.next_when(view.arrives, came.q.wrapping_add(1));
            let gone = m.reg_init("formal_gone_q", ty, 0);
            gone.next_when(view.freed, gone.q.wrapping_add(1));
            let [present, next] = view.held;
            m.assert_always("blocks_conserved", came.q.wrapping_sub(gone.q).eq(present + next));
            m.assert_always("blocks_in_order", present | !next);
            stages.assert_order(m, "tiles", done, io.tile.fire());
        });
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("latency".into(), 3), ("cycles_per_tile".into(), 1), ("cycles_per_opening_tile".into(), 3)]
    }
}

/// The bits that come next.
struct View {
    window: Signal,
    /// A whole chunk is there.
    enough: Signal,
    /// The present block is the stream's last.
    last: Signal,
    stream_over: Signal,
    /// Driven by the user: the chunk is cut off, its length, or that the stream ends here.
    cut: Signal,
    length: Signal,
    end: Signal,
    /// For the formal section: a block comes in, the present one is done with, which of the two are held.
    arrives: Signal,
    freed: Signal,
    held: [Signal; 2],
}

/// What the window holds.
struct Parsed {
    length: Signal,
    end: Signal,
    bad_header: Signal,
    has_levels: Signal,
    more: Signal,
    completes: Signal,
    bits: Signal,
    window: Signal,
}

struct Assembly {
    fsm: Fsm,
    parsed: Parsed,
    cut: Signal,
    done: Signal,
    complete: Signal,
    moves: Signal,
}

impl KvUnpacker {
    /// Two blocks, and a window that slides over them.
    fn window(&self, m: &mut Module, io: &KvUnpackerPorts) -> View {
        let (block, width) = (self.block_bits(), chunk_bits(self.lanes));
        let place = uint(index_width(u64::from(block)));
        let [has_present, has_next] = ["present_valid_q", "next_valid_q"].map(|n| m.reg_init(n, bit(), 0));
        let [present, next] = ["present_q", "next_q"].map(|n| m.reg(n, uint(block)));
        let [present_last, next_last] = ["present_last_q", "next_last_q"].map(|n| m.reg(n, bit()));
        let at = m.reg_init("at_q", place, 0);
        let length = m.net("cut_length", uint(bits_for(u64::from(width))));
        let cut = m.net("cut_now", bit());
        let end = m.net("cut_end", bit());

        // Past its last block stands another stream, of which at most one bit is looked at: a kind that begins with the last
        // bit. That bit is padding, so that no tile is complete, and the stream is over with its block.
        let both = cat(&[next.q.slice(0..width), present.q]);
        let window = m.wire("window", both.shr_by(at.q).slice(0..width));
        let fits = at.q.le(block - width);
        let enough = m.wire("enough", has_present.q & (fits | has_next.q | present_last.q));
        let sum = m.wire("cut_to", at.q + length);
        let passes = m.wire("passes_block", sum.ge(block) | end);
        let freed = m.wire("freed", cut & passes);
        let stream_over = m.wire("over_now", freed & present_last.q);
        let kept = sum.wrapping_sub(mux(passes, sum.ty().lit(block), sum.ty().lit(0))).truncate(place.width);
        at.next(select(&[(stream_over | (cut & end), place.lit(0)), (cut, kept)], at.q));

        let shift = m.wire("shift", !has_present.q | freed);
        let accept = m.wire("accept", !has_next.q | shift);
        m.connect(io.block.ready, accept);
        let arrives = m.wire("arrives", io.block.valid & accept);
        // A block moves up, or, when none waits, is taken to the front at once.
        has_present.next(mux(shift, has_next.q | arrives, bit().lit(1)));
        present.next_when(shift, mux(has_next.q, next.q, io.block.field("data")));
        present_last.next_when(shift, mux(has_next.q, next_last.q, io.block.field("last")));
        has_next.next(mux(shift, has_next.q & arrives, has_next.q | arrives));
        next.next_when(arrives, io.block.field("data"));
        next_last.next_when(arrives, io.block.field("last"));
        let held = [has_present.q, has_next.q];
        View { window, enough, last: present_last.q, stream_over, cut, length, end, arrives, freed, held }
    }

    /// Kind, length and completeness of the chunk at the start of the window.
    fn parse(&self, m: &mut Module, fsm: &Fsm, window: Signal) -> Parsed {
        let lanes = self.lanes;
        let length_type = uint(bits_for(u64::from(chunk_bits(lanes))));
        let fit = |s: Signal| {
            if s.width() > length_type.width { s.truncate(length_type.width) } else { s.extend(length_type.width) }
        };
        let ones = |s: Signal| count_ones(&(0..s.width()).map(|i| s.bit(i)).collect::<Vec<_>>());
        let (is_header, is_token, is_levels) = (fsm.is("Header"), fsm.is("Token"), fsm.is("Levels"));

        let expected = uint(12).lit(VERSION | lanes << 4);
        let bad_header = m.wire("bad_header", is_header & window.slice(4..16).ne(expected));
        let kind = m.wire("kind", window.slice(0..2));
        let end = m.wire("stream_end", is_token & kind.eq(0));
        let token = m.wire("is_token", kind.bit(0));
        let elements = m.wire("elements", ones(window.slice(2..2 + lanes)));
        // Labels beyond the number of elements are values already.
        let ramp = uint(lanes + 1).lit(1).shl_by(elements);
        let inside = m.wire("inside_labels", ramp.wrapping_sub(1).truncate(lanes));
        let labels = m.wire("labels", window.slice(2 + lanes..2 + 2 * lanes) & inside);
        let nonzero = m.wire("nonzero", ones(labels));
        let bits = m.reg("bits_q", bits_type());
        // `is_header` lasts until the header is there, so that the last value it sees is the right one.
        bits.next_when(is_header, window.slice(0..4));
        let choice = m.wire("bits_choice", bits.q.wrapping_sub(2).truncate(3));
        let value_bits: Vec<Signal> = (2..=8).map(|b| fit((nonzero * b).extend(nonzero.width() + 4))).collect();
        let value_bits = m.lookup("value_bits", choice, &value_bits);
        let token_length = fit(elements).wrapping_add(value_bits).wrapping_add(2 + lanes);

        let first = first_records(lanes);
        let opened = m.wire("opened", ones(window.slice(0..lanes)));
        let more = m.wire("more_records", opened.gt(first));
        let shown = m.wire("first_records", mux(more, opened.ty().lit(first), opened));
        let left = m.reg("records_left_q", opened.ty());
        left.next_when(is_levels, opened.wrapping_sub(first));
        let records = |s: Signal| fit((s * RECORD_BITS).extend(s.width() + 5));
        let length = select(
            &[
                (is_header, length_type.lit(16)),
                (is_token & token, token_length),
                (is_token, length_type.lit(2)),
                (is_levels, records(shown).wrapping_add(lanes)),
            ],
            records(left.q),
        );
        let completes = (is_token & kind.eq(1)) | (is_levels & !more) | fsm.is("MoreLevels");
        Parsed {
            length: m.wire("length", length),
            end,
            bad_header,
            has_levels: m.wire("has_levels", kind.bit(1)),
            more,
            completes: m.wire("completes", completes),
            bits: bits.q,
            window,
        }
    }

    /// Keeps the chunks of a tile, then brings its parts to their lanes.
    ///
    /// Returns the control of the two stages, for the formal section.
    fn assemble(&self, m: &mut Module, io: &KvUnpackerPorts, a: &Assembly) -> Pipeline {
        let lanes = self.lanes;
        let window = a.parsed.window;
        // The end of a stream may come while its last tile waits: that tile must stay as it is.
        let kept = m.wire("kept", a.cut & !a.parsed.end);
        let at = |m: &mut Module, state: &str| m.wire(&format!("cut_{}", state.to_lowercase()), kept & a.fsm.is(state));
        let [header, token, levels, more] = ["Header", "Token", "Levels", "MoreLevels"].map(|s| at(m, s));
        let first_chunk = m.reg_init("first_chunk_q", bit(), 1);
        first_chunk.next(header | (first_chunk.q & !token));
        let held = |m: &mut Module, name: &str, load: Signal, value: Signal| {
            let register = m.reg(name, value.ty());
            register.next_when(load, value);
            register.q
        };
        let is_token = window.bit(0);
        let gate = |s: Signal, g: Signal| s & g.repeat(s.width());
        let first = held(m, "first_q", token, first_chunk.q);
        let initial = held(m, "initial_q", token, !is_token);
        let bits = held(m, "tile_bits_q", token, a.parsed.bits);
        let index = held(m, "index_q", token, gate(window.slice(2..2 + lanes), is_token));
        let body = held(m, "body_q", token, window.slice(2 + lanes..2 + 10 * lanes));
        // A token without new levels has an empty mask.
        let opens = m.reg("opens_q", uint(lanes));
        opens.next_when(token | levels, mux(levels, window.slice(0..lanes), uint(lanes).lit(0)));
        let split = first_records(lanes);
        let head = held(m, "records_q", levels, window.slice(lanes..lanes + split * RECORD_BITS));
        let tail = held(m, "more_records_q", more, window.slice(0..(lanes - split) * RECORD_BITS));

        let control = Pipeline::new(m, &["tile"], a.complete, io.tile.ready);
        m.connect(a.moves, control.ready);
        m.connect(io.tile.valid, control.stages[0].valid);
        let load = control.stages[0].load;
        for (name, value) in [("first", first), ("initial", initial), ("bits", bits)] {
            let value = held(m, &format!("{name}_out_q"), load, value);
            m.connect(io.tile.field(name), value);
        }
        let labels: ExpanderPorts = m.instance("u_labels", Expander { lanes, width: 1 });
        let records: ExpanderPorts = m.instance("u_records", Expander { lanes, width: RECORD_BITS });
        let both = m.wire("all_records", cat(&[tail, head]));
        for lane in 0..lanes {
            m.connect(labels.mask_i.at(lane), index.bit(lane));
            m.connect(labels.data_i.at(lane), body.bit(lane));
            m.connect(records.mask_i.at(lane), opens.q.bit(lane));
            m.connect(records.data_i.at(lane), both.slice(lane * RECORD_BITS..(lane + 1) * RECORD_BITS));
        }
        let elements = m.wire("tile_elements", labels.count_o);
        let label_bits = m.wire("label", labels.data_o.packed());
        let nonzero = count_ones(&(0..lanes).map(|i| label_bits.bit(i)).collect::<Vec<_>>());
        let nonzero = m.wire("tile_nonzero", nonzero);
        let dense = m.wire("dense_values", body.shr_by(elements).slice(0..8 * lanes));
        let choice = m.wire("tile_bits_choice", bits.wrapping_sub(2).truncate(3));
        for lane in 0..lanes {
            let choices: Vec<_> = (2..=8).map(|b| dense.slice(b * lane..b * (lane + 1)).extend(8)).collect();
            let value = m.lookup(&format!("value_{lane}"), choice, &choices);
            let value = m.wire(&format!("kept_value_{lane}"), gate(value, nonzero.gt(lane)));
            let value = held(m, &format!("value_{lane}_q"), load, value);
            m.connect(io.tile.array("values").at(lane), value);
        }
        let index_out = held(m, "index_out_q", load, index);
        let label_out = held(m, "label_out_q", load, label_bits);
        let open_out = held(m, "open_out_q", load, opens.q);
        for lane in 0..lanes {
            m.connect(io.tile.array("index").at(lane), index_out.bit(lane));
            m.connect(io.tile.array("label").at(lane), label_out.bit(lane));
            m.connect(io.tile.array("open").at(lane), open_out.bit(lane));
        }
        m.for_each("records", lanes, |m, lane| {
            let record = m.reg("record_q", uint(RECORD_BITS));
            record.next_when(load, records.data_o.at(lane));
            m.connect(io.tile.array("range").at(lane), record.q.slice(0..RANGE_BITS));
            m.connect(io.tile.array("zero").at(lane), record.q.slice(RANGE_BITS..RECORD_BITS).as_sint());
        });
        let stages = vec![PipelineStage { load: a.done, valid: a.complete }, control.stages[0]];
        Pipeline { ready: control.ready, stages }
    }
}

impl Default for KvUnpacker {
    fn default() -> Self {
        Self { lanes: 32, block_bytes: 64 }
    }
}

impl CatalogBlock for KvUnpacker {
    const OLD_PARAMETERS: &'static [OldParameter] = OLD_PARAMETERS;

    fn configurations() -> Vec<Self> {
        [(2, 3), (5, 8)].map(|(lanes, block_bytes)| Self { lanes, block_bytes }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { lanes: 2, block_bytes: 3 }, depth: 4, cover_depth: 12, induction: true }]
    }
}
