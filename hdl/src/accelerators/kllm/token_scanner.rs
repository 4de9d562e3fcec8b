//! Turns a row whose outliers are known into indices and outliers.

use super::kllm_spec::COUNT;
use super::quantizer_spec::{QuantizerSpec, RECORD};
use crate::blocks::common::arith::popcount;
use crate::blocks::common::arith::priority_encoder::PriorityEncoder;
use crate::blocks::common::stream::Word;
use crate::blocks::kllm::ClusterIndices;
use crate::lang::{
    About, Block, Field, In, InArray, Module, Out, OutStream, Signal, Stream, Timing, bit, bits_for, bundle, cat,
    index_width, mux, parameters, ports, uint,
};

/// A NaN of fp16: its index is 0.
const NAN: u32 = 0x7e00;

parameters! {
    /// Elaboration parameters.
    pub struct TokenScanner {
        /// The quantizer.
        spec: QuantizerSpec = QuantizerSpec::default();
    }
}

bundle! {
    /// Indices of a beat of a row.
    pub struct IndexBeats(lanes: u32) {
        /// A nibble each, 0 for outliers and after the last element.
        indices: Field = uint(4 * *lanes),
        /// The last beat of the row.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`TokenScanner`].
    pub struct TokenScannerPorts(p: &TokenScanner) {
        /// Drops everything.
        clear_i: In = bit(),
        /// Elements of a row, from 1 on; steady from clear_i on.
        columns_i: In = uint(COUNT),
        /// Its beats; as columns_i.
        beats_i: In = uint(COUNT),
        /// There is a row, and all thresholds are written; stays until row_done_o.
        go_i: In = bit(),
        /// Read the row.
        read_o: Out = bit(),
        /// The beat.
        word_o: Out = uint(index_width(p.spec.beats().max(2).into())),
        /// The elements of the beat read last, fp16.
        values_i: InArray = uint(16).array(p.spec.lanes()),
        /// Outliers among them.
        mask_i: In = uint(p.spec.lanes()),
        /// The row is not read any more after this cycle.
        use_last_o: Out = bit(),
        /// A threshold is written at this edge.
        write_i: In = bit(),
        /// Its number.
        index_i: In = uint(4),
        /// The threshold.
        threshold_i: In = uint(16),
        /// Indices, beat by beat.
        indices: OutStream<IndexBeats> = p.spec.lanes(),
        /// Outliers: position in the low half, value in the high one, positions ascend.
        records: OutStream<Word> = RECORD,
        /// Inliers in this cycle that are infinite or no number.
        specials_o: Out = uint(bits_for(p.spec.lanes().into())),
        /// A beat is finished.
        moves_o: Out = bit(),
        /// In this cycle the last indices and outliers of the row leave: its thresholds are not used any more.
        row_done_o: Out = bit(),
    }
}

/// The beat that was read.
struct Beat {
    valid: Signal,
    /// The beat is the last one.
    last: Signal,
    /// Its number in the row.
    number: Signal,
    /// Elements of the row from it on.
    rest: Signal,
    /// To be driven: the beat is finished.
    leaves: Signal,
}

impl Block for TokenScanner {
    type Ports = TokenScannerPorts;
    const ABOUT: About = About {
        name: "token_scanner",
        summary: "inliers of a row become indices, its outliers a list",
        contract: "Beat after beat of a row goes through a clustering_unit. Outliers and places after the last\n\
            element go as a NaN, whose index is 0. A beat's outliers leave meanwhile, one a cycle, the lowest\n\
            first. A beat with r outliers takes max(1, r) cycles.",
        reference: "KLLM, sections III-A and IV-A",
    };

    fn build(&self, m: &mut Module, io: &TokenScannerPorts) {
        let (clear, lanes) = (io.clear_i, self.spec.lanes());
        let row_done = m.net("row_done", bit());
        m.connect(io.row_done_o, row_done);
        let beat = self.read(m, io, row_done);

        m.comment("Outliers, one a cycle.");
        let (inside, masked) = (m.nets("counts", bit(), lanes), m.nets("is_outlier", bit(), lanes));
        m.for_each("counts", lanes, |m, i| {
            let here = m.wire("here", beat.rest.gt(i.value(COUNT)));
            m.connect(inside.at(i), here);
            m.connect(masked.at(i), here & io.mask_i.slice_at(i, 1).as_uint());
        });
        let gone = m.reg_init("gone_q", uint(lanes), 0);
        let left = m.wire("left", masked.packed() & !gone.q);
        let encoder = m.instance("u_first", PriorityEncoder { width: lanes });
        m.connect(encoder.data_i, left);
        let lane = encoder.index_o;
        let this = m.wire("first_left", uint(lanes).lit(1).shl_by(lane));
        let others = m.wire("others", (left & !this).any());
        let position = m.wire("position", cat(&[beat.number, lane]));
        let position = if position.width() > 16 { position.slice(0..16) } else { position.extend(16) };
        m.connect(io.records.valid, beat.valid & encoder.found_o);
        m.connect(io.records.data.data, cat(&[io.values_i.at(lane), position]));
        let sent = m.wire("sent", io.records.fire());

        m.comment("Indices.");
        let clustering = m.instance("u_clustering", self.spec.clustering());
        m.connect(clustering.clear_i, clear);
        m.connect_pairs([
            (clustering.write_i, io.write_i),
            (clustering.write_index_i, io.index_i),
            (clustering.midpoint_i, io.threshold_i),
        ]);
        let clustered = m.reg_init("clustered_q", bit(), 0);
        m.connect(clustering.values.valid, beat.valid & !clustered.q);
        m.for_each("values", lanes, |m, i| {
            let counts = inside.at(i) & !masked.at(i);
            m.connect(clustering.values.value.at(i), mux(counts, io.values_i.at(i), NAN));
        });
        let enters = m.wire("enters", clustering.values.fire());
        let all_sent = m.wire("all_sent", !encoder.found_o | (sent & !others));
        m.connect(beat.leaves, beat.valid & all_sent & (enters | clustered.q));
        clustered.next((clustered.q | enters) & !beat.leaves & !clear);
        let more = gone.q | (this & sent.repeat(lanes));
        gone.next(more & !(beat.leaves | clear).repeat(lanes));
        let indexed = self.indices(m, io, &clustering.indices);

        // Its outliers may leave after its last indices, when there is no room for them.
        let scanned = m.wire("scanned", beat.leaves & beat.last);
        m.connect(io.use_last_o, scanned);
        let one = m.reg_init("one_done_q", bit(), 0);
        m.connect(row_done, (scanned & indexed) | (one.q & (scanned | indexed)));
        one.next((one.q ^ (scanned ^ indexed)) & !clear);

        let special = m.nets("special", bit(), lanes);
        m.for_each("special", lanes, |m, i| {
            let value = io.values_i.at(i);
            m.connect(special.at(i), inside.at(i) & !masked.at(i) & value.slice(10..15).all());
        });
        let count = popcount::ones(m, "specials", &special.elements());
        m.connect(io.specials_o, count & beat.leaves.repeat(count.width()));
        m.connect(io.moves_o, beat.leaves);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.spec.clustering().bits + 1)
    }
}

impl TokenScanner {
    /// Reads the row, a beat before it is finished.
    fn read(&self, m: &mut Module, io: &TokenScannerPorts, row_done: Signal) -> Beat {
        let (clear, lanes, ty) = (io.clear_i, self.spec.lanes(), uint(COUNT));
        let leaves = m.net("leaves", bit());
        let valid = m.reg_init("valid_q", bit(), 0);
        // Beats that were asked for, and whether these are all beats of the row.
        let asked = m.reg_init("asked_q", ty, 0);
        let some = m.wire("some", asked.q.ne(io.beats_i));
        let reads = m.wire("reads", io.go_i & some & (!valid.q | leaves) & !clear);
        valid.next((reads | (valid.q & !leaves)) & !clear);
        let rest = m.reg("rest_q", ty);
        let number = m.reg("number_q", ty);
        let first = asked.q.eq(0);
        rest.next_when(reads, mux(first, io.columns_i, rest.q.wrapping_sub(lanes)));
        number.next_when(reads, asked.q);
        asked.next(mux(clear | row_done, ty.lit(0), asked.q.wrapping_add(reads.extend(COUNT))));
        let word = io.word_o.width();
        m.connect(io.read_o, reads);
        m.connect(io.word_o, if word > COUNT { asked.q.extend(word) } else { asked.q.slice(0..word) });
        Beat { valid: valid.q, last: !some, number: number.q, rest: rest.q, leaves }
    }

    /// Counts the beats that come out of the clustering unit; returns when the last one of the row leaves.
    fn indices(&self, m: &mut Module, io: &TokenScannerPorts, from: &Stream<ClusterIndices>) -> Signal {
        let out = m.reg_init("came_q", uint(COUNT), 0);
        let last = m.wire("index_last", out.q.wrapping_add(1).eq(io.beats_i));
        m.connect_handshake(&io.indices, from);
        m.connect(io.indices.indices, from.data.index.packed());
        m.connect(io.indices.last, last);
        let moves = m.wire("index_moves", io.indices.fire());
        let ends = m.wire("index_ends", moves & last);
        let zero = uint(COUNT).lit(0);
        out.next(mux(io.clear_i | ends, zero, out.q.wrapping_add(moves.extend(COUNT))));
        ends
    }
}
