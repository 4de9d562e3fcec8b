//! All lanes. Codebooks and activations go to each of them. Weights go to the lanes of a group one after the other, and
//! sums leave one lane after the other.

use super::kllm_spec::{COUNT, KllmSpec};
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{StreamFork, StreamWidthConverter};
use crate::blocks::kllm::{ActivationBeat, CodebookEntry, ColumnSums, PeLane};
use crate::lang::{
    About, Array, Block, Bundle, In, InStream, InStreams, Index, Module, OutStream, Signal, Stream, Timing, bit,
    index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct LaneBank {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| rules.part("spec.columns", &p.words());
}

impl LaneBank {
    fn words(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: self.spec.word(), granule: 8 }
    }

    /// A group of lanes.
    fn group(&self) -> Self {
        Self { axi: self.axi.clone(), spec: self.spec.group() }
    }

    /// Members side by side: groups, or the lanes of the only group.
    fn members(&self) -> u32 {
        if self.spec.groups > 1 { self.spec.groups } else { self.spec.lanes }
    }
}

ports! {
    /// Ports of [`LaneBank`].
    pub struct LaneBankPorts(p: &LaneBank) {
        /// Drops all weights, beats and sums.
        clear_i: In = bit(),
        /// Beats of a panel; steady from clear_i on.
        beats_i: In = uint(COUNT),
        /// Entries of codebooks; one is taken when all lanes have it.
        codebook: InStream<CodebookEntry> = p.spec.lane(),
        /// Panels of weights of each group, a row each: for each beat the words of all its lanes.
        weights: InStreams<RowBeat> = (p.spec.groups, p.axi.clone()),
        /// Beats of tokens; one is taken when all lanes have it.
        activations: InStream<ActivationBeat> = p.spec.lane(),
        /// Sums of the channels of a panel in order; last with the last ones of the last lane.
        sums: OutStream<ColumnSums> = p.spec.lane(),
    }
}

/// Transfers of a stream that goes to all lanes or groups.
struct Taken<B> {
    valid: Array,
    ready: Array,
    data: B,
}

impl<B: Bundle<Spec = PeLane>> Taken<B> {
    /// To member `i`.
    fn connect(&self, m: &mut Module, name: &str, i: Index, to: &Stream<B>) {
        m.connect(to.valid, self.valid.at(i));
        m.connect(self.ready.at(i), to.ready);
        to.data.drive(m, name, &self.data);
    }
}

/// Sums of each lane or group.
struct Leaving {
    valid: Array,
    ready: Array,
    words: Array,
}

impl Leaving {
    /// The sums of member `i`.
    fn connect(&self, m: &mut Module, i: Index, from: &Stream<ColumnSums>) {
        m.connect(self.valid.at(i), from.valid);
        m.connect(from.ready, self.ready.at(i));
        m.connect(self.words.at(i), from.data.pack());
    }
}

impl Block for LaneBank {
    type Ports = LaneBankPorts;
    const ABOUT: About = About {
        name: "lane_bank",
        summary: "all lanes: their weights in turn, the same activations, their sums in turn",
        contract: "Each lane works as pe_lane; a bank of weights ends with its panel. Several groups are as many\n\
            banks of lanes side by side.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &LaneBankPorts) {
        let (count, clear, lane) = (self.members(), io.clear_i, self.spec.lane());
        let codebook = self.to_all(m, "codebook", clear, &io.codebook);
        let activations = self.to_all(m, "activations", clear, &io.activations);
        let sums = Leaving {
            valid: m.nets("sums_valid", bit(), count),
            ready: m.nets("sums_ready", bit(), count),
            words: m.nets("sums_word", uint(ColumnSums::width(&lane)), count),
        };
        if self.spec.groups > 1 {
            m.comment("Groups.");
            m.for_each("groups", count, |m, i| {
                let u = m.instance("u_group", self.group());
                m.connect(u.clear_i, clear);
                m.connect(u.beats_i, io.beats_i);
                codebook.connect(m, "group_codebook", i, &u.codebook);
                activations.connect(m, "group_activations", i, &u.activations);
                m.connect_stream(&u.weights.at(0), &io.weights.at(i));
                sums.connect(m, i, &u.sums);
            });
        } else {
            self.lanes(m, io, (&codebook, &activations), &sums);
        }

        m.comment("Sums.");
        let lane_ends = m.net("lane_ends", bit());
        let from = self.turn(m, "sums", clear, lane_ends);
        m.connect(io.sums.valid, sums.valid.at(from));
        m.for_each("leaving", count, |m, i| {
            m.connect(sums.ready.at(i), io.sums.ready & from.eq(i.value(from.width())));
        });
        let chosen = m.wire("chosen", sums.words.at(from));
        let chosen = ColumnSums::unpack(m, "chosen", &lane, chosen);
        m.connect(lane_ends, io.sums.fire() & chosen.last);
        let last = chosen.last & from.eq(count - 1);
        m.connect_each("sum", io.sums.sum, chosen.sum);
        if let (Some(to), Some(from)) = (io.sums.outliers, chosen.outliers) {
            m.connect_each("outlier_sum", to, from);
        }
        m.connect_option(io.sums.special, chosen.special);
        m.connect(io.sums.error, chosen.error);
        m.connect(io.sums.last, last);
    }

    fn timing(&self) -> Timing {
        let lane = self.spec.lane();
        let drain = self.spec.lanes * lane.drain();
        Timing::pipeline(lane.latency()).phase("drain", drain, "beats of the sums of all lanes")
    }
}

impl LaneBank {
    /// The lanes of the only group.
    fn lanes(
        &self,
        m: &mut Module,
        io: &LaneBankPorts,
        (codebook, activations): (&Taken<CodebookEntry>, &Taken<ActivationBeat>),
        sums: &Leaving,
    ) {
        let (count, clear, lane) = (self.spec.lanes, io.clear_i, self.spec.lane());
        m.comment("Words of weights.");
        let words = m.instance("u_words", self.words());
        m.connect(words.clear_i, clear);
        rows_to_words(m, "weights", &io.weights.at(0), &words);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
        let turn_ty = uint(index_width(count.into()));
        let (moves, word) = (m.wire("word_moves", words.output.fire()), words.output.data.data);
        let turn = self.turn(m, "word", clear, moves);
        let lane_last = m.wire("last_lane", turn.eq(count - 1));
        let beat = m.reg("beat_q", uint(COUNT));
        let beat_last = m.wire("last_beat", beat.q.wrapping_add(1).eq(io.beats_i));
        let next = mux(beat_last, uint(COUNT).lit(0), beat.q.wrapping_add(1));
        beat.next(mux(clear, uint(COUNT).lit(0), mux(moves & lane_last, next, beat.q)));
        let indices = m.split("weight", word, uint(4).array(self.spec.columns * self.spec.inputs));

        m.comment("Lanes.");
        let takes = m.nets("weights_ready", bit(), count);
        m.for_each("lanes", count, |m, i| {
            let u = m.instance("u_lane", lane.clone());
            m.connect(u.clear_i, clear);
            codebook.connect(m, "lane_codebook", i, &u.codebook);
            activations.connect(m, "lane_activations", i, &u.activations);
            let here = m.wire("word_here", turn.eq(i.value(turn_ty.width)));
            m.connect(u.weights.valid, words.output.valid & here);
            m.connect(takes.at(i), u.weights.ready);
            m.connect_each("lane_weights", u.weights.index, indices);
            m.connect(u.weights.last, beat_last);
            sums.connect(m, i, &u.sums);
        });
        m.connect(words.output.ready, takes.at(turn));
    }

    /// Whose turn it is; `moves` gives it to the next lane or group.
    fn turn(&self, m: &mut Module, name: &str, clear: Signal, moves: Signal) -> Signal {
        let (count, ty) = (self.members(), uint(index_width(self.members().into())));
        let turn = m.reg_init(&format!("{name}_turn_q"), ty, 0);
        let next = mux(turn.q.eq(count - 1), ty.lit(0), turn.q.wrapping_add(1));
        turn.next(mux(clear, ty.lit(0), mux(moves, next, turn.q)));
        turn.q
    }

    /// A stream to all lanes or groups.
    fn to_all<B: Bundle<Spec = PeLane>>(
        &self,
        m: &mut Module,
        name: &str,
        clear: Signal,
        from: &Stream<B>,
    ) -> Taken<B> {
        let (count, spec) = (self.members(), self.spec.lane());
        let (valid, ready) =
            (m.nets(&format!("{name}_valid"), bit(), count), m.nets(&format!("{name}_ready"), bit(), count));
        let word = m.wire(&format!("{name}_word"), from.data.pack());
        if count == 1 {
            m.connect(valid.at(0), from.valid);
            m.connect(from.ready, ready.at(0));
            return Taken { valid, ready, data: B::unpack(m, name, &spec, word) };
        }
        let fork = m.instance(&format!("u_{name}"), StreamFork { width: B::width(&spec), outputs: count });
        m.connect(fork.clear_i, clear);
        m.connect(fork.input.valid, from.valid);
        m.connect(fork.input.data.data, word);
        m.connect(from.ready, fork.input.ready);
        m.connect_each(&format!("{name}_offered"), valid, fork.output_valid_o);
        m.connect_each(&format!("{name}_taken"), fork.output_ready_i, ready);
        Taken { valid, ready, data: B::unpack(m, name, &spec, fork.output_data_o) }
    }
}
