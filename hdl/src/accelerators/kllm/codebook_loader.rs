//! Codebooks from memory to the lanes. The lanes need the weights first, although these follow the activations in
//! memory.

use super::kllm_spec::{BYTES, KllmSpec};
use crate::accelerators::rows::starts_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{StreamFifo, StreamWidthConverter};
use crate::blocks::kllm::CodebookEntry;
use crate::lang::{
    About, Block, In, InStream, Module, Out, OutStream, Signal, Timing, bit, mux, parameters, ports, uint,
};

/// Centroids of a codebook.
const ENTRIES: u32 = 16;
/// Numbers of 16 bits before the centroids of activations.
const MIDPOINTS: u32 = 32;
/// Numbers up to the end of the centroids of weights.
const NUMBERS: u32 = MIDPOINTS + 2 * ENTRIES;
/// When all entries have left.
const DONE: u32 = NUMBERS + ENTRIES;

parameters! {
    /// Elaboration parameters.
    pub struct CodebookLoader {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| rules.part("axi.data_width", &p.numbers());
}

impl CodebookLoader {
    fn numbers(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: 16, granule: 8 }
    }
}

ports! {
    /// Ports of [`CodebookLoader`].
    pub struct CodebookLoaderPorts(p: &CodebookLoader) {
        /// Forgets what came; the next row is a codebook.
        clear_i: In = bit(),
        /// A codebook: one row.
        rows: InStream<RowBeat> = p.axi.clone(),
        /// To the lanes.
        entries: OutStream<CodebookEntry> = p.spec.lane(),
        /// All entries have left; up to the next clear_i.
        done_o: Out = bit(),
        /// For one cycle: a centroid is no integer of so many bits, or the most negative one.
        error_o: Out = bit(),
    }
}

impl Block for CodebookLoader {
    type Ports = CodebookLoaderPorts;
    const ABOUT: About = About {
        name: "codebook_loader",
        summary: "centroids of a codebook in memory, to the lanes",
        contract: "A row of at least 128 bytes has numbers of 16 bits: 32 that are left out, 16 centroids of\n\
            activations, 16 centroids of weights. The centroids of weights leave first. A wrong centroid is told,\n\
            and leaves cut.",
        reference: "KLLM, section III-B",
    };

    fn build(&self, m: &mut Module, io: &CodebookLoaderPorts) {
        let (clear, bits) = (io.clear_i, self.spec.centroid_bits);
        let numbers = m.instance("u_numbers", self.numbers());
        m.connect(numbers.clear_i, clear);
        starts_to_words(m, "row", &io.rows, (uint(BYTES).lit(2 * NUMBERS), clear), &numbers);
        m.unused(numbers.output.strobe);
        m.unused(numbers.output.last);
        let block = StreamFifo::registers(bits, ENTRIES);
        let kept = m.instance("u_activations", block);
        m.connect(kept.clear_i, clear);
        m.unused(kept.level_o);
        m.unused(kept.almost_full_o);
        m.unused(kept.input.ready);

        let ty = uint(7);
        let count = m.reg_init("count_q", ty, 0);
        let activation = m.wire("is_activation", count.q.ge(MIDPOINTS) & count.q.lt(MIDPOINTS + ENTRIES));
        let weight = m.wire("is_weight", count.q.ge(MIDPOINTS + ENTRIES) & count.q.lt(NUMBERS));
        let sends = m.wire("sends", count.q.ge(NUMBERS) & count.q.lt(DONE));
        let number = m.wire("number", numbers.output.data.data);
        let comes = m.wire("comes", numbers.output.fire());
        m.connect(numbers.output.ready, mux(weight, io.entries.ready, !sends & count.q.ne(DONE)));
        m.connect(kept.input.valid, comes & activation);
        m.connect(kept.input.data.data, number.slice(0..bits));
        m.connect(kept.output.ready, io.entries.ready & sends);
        m.connect(io.entries.valid, (weight & numbers.output.valid) | sends);
        m.unused(kept.output.valid);
        m.connect(io.entries.activation, sends);
        m.connect(io.entries.index, count.q.slice(0..4));
        m.connect(io.entries.value, mux(sends, kept.output.data.data, number.slice(0..bits)).as_sint());
        let moves = m.wire("moves", comes | (sends & io.entries.ready));
        count.next(mux(clear, ty.lit(0), mux(moves, count.q.wrapping_add(1), count.q)));
        m.connect(io.done_o, count.q.eq(DONE));

        // All bits from the sign on are equal, and the bits below not all 0 where it is negative.
        let high = number.slice(bits - 1..16);
        let least = number.bit(15) & !number.slice(0..bits - 1).any();
        let fits = !high.any() | (high.all() & !least);
        let wrong = m.wire("wrong", comes & (activation | weight) & !fits);
        m.connect(io.error_o, wrong);
        let inside = Inside { count: count.q, comes, number, kept: kept.level_o };
        self.properties(m, io, &inside);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1).phase("activations", ENTRIES, "entries of activations, after the last one of the weights")
    }
}

/// Signals for the properties.
struct Inside {
    count: Signal,
    /// A number comes.
    comes: Signal,
    number: Signal,
    /// Centroids of activations that wait.
    kept: Signal,
}

impl CodebookLoader {
    /// Entries are counted at their port, numbers where they come: each has the right value, and of each kind there are
    /// 16.
    fn properties(&self, m: &mut Module, io: &CodebookLoaderPorts, inside: &Inside) {
        m.formal(|m| {
            let ty = uint(7);
            let counted = |m: &mut Module, name: &str, one: Signal| {
                let count = m.reg_init(name, ty, 0);
                count.next(mux(io.clear_i, ty.lit(0), count.q.wrapping_add(one.extend(7))));
                count.q
            };
            let came = counted(m, "formal_came_q", inside.comes);
            let sent = counted(m, "formal_sent_q", io.entries.fire());
            let (comes, number) = (inside.comes, inside.number.as_sint());
            m.assert_always("numbers_of_one_row", !comes | came.lt(NUMBERS));
            m.assert_always(
                "count_of_both",
                inside.count.eq(mux(came.lt(NUMBERS), came, sent.wrapping_add(MIDPOINTS + ENTRIES))),
            );
            let weights = mux(came.lt(MIDPOINTS + ENTRIES), ty.lit(0), came.wrapping_sub(MIDPOINTS + ENTRIES));
            m.assert_always("a_weight_leaves_as_it_comes", came.eq(NUMBERS) | sent.eq(weights));
            let (sixteen, all) = (ty.lit(ENTRIES), sent.ge(ENTRIES));
            m.assert_always("no_more_than_all", sent.le(2 * ENTRIES) & (came.eq(NUMBERS) | sent.lt(ENTRIES)));
            m.assert_always("weights_first", !io.entries.valid | io.entries.activation.eq(all));
            m.assert_always("in_order", !io.entries.valid | io.entries.index.eq(sent.slice(0..4)));
            m.assert_always("done_with_the_last", io.done_o.eq(sent.eq(2 * ENTRIES)));
            m.comment("Nothing is lost where centroids of activations wait, and none leaves that did not come.");
            let kept = mux(
                came.lt(MIDPOINTS),
                ty.lit(0),
                mux(came.lt(MIDPOINTS + ENTRIES), came.wrapping_sub(MIDPOINTS), sixteen),
            );
            let gone = mux(all, sent.wrapping_sub(ENTRIES), ty.lit(0));
            m.assert_always("what_waits", inside.kept.extend(7).eq(kept.wrapping_sub(gone)));
            m.comment("A number that does not fit a centroid is told.");
            let most = (1i64 << (self.spec.centroid_bits - 1)) - 1;
            let fits = number.le(most) & number.ge(-most);
            m.assert_always("wrong_ones_are_told", io.error_o.eq(comes & came.ge(MIDPOINTS) & !fits));
            let weight = io.entries.valid & !all & fits;
            m.assert_always("value_of_its_number", !weight | io.entries.value.extend(16).eq(number));
            m.cover("begins_again", io.clear_i & came.eq(1));
        });
    }
}
