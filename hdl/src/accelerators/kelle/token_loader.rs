//! The rows of a token: its key and its value stay in registers, its queries in a memory.

use super::activation_memory::ActivationMemory;
use super::attention_spec::AttentionSpec;
use super::integer_lanes::{IntegerLane, IntegerLanes};
use crate::accelerators::sizes::fit;
use crate::blocks::common::bus::RowBeat;
use crate::lang::{
    About, Block, In, InOption, InStreams, Module, Out, OutArray, bit, bits_for, connect_all, index_width, mux,
    parameters, ports, select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct TokenLoader {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
        /// How an fp16 number becomes an integer.
        integer: IntegerLane = IntegerLane::default();
    }
}

impl TokenLoader {
    fn queries(&self) -> ActivationMemory {
        let spec = &self.spec;
        let tile = spec.spec.columns;
        ActivationMemory { lanes: spec.spec.lanes(), tile, rows: 1, inner: spec.group * spec.width }
    }

    fn tiles(&self) -> u32 {
        self.spec.group * self.spec.slices()
    }
}

ports! {
    /// Ports of [`TokenLoader`].
    pub struct TokenLoaderPorts(p: &TokenLoader) {
        /// Drops everything.
        clear_i: In = bit(),
        /// The next token is wanted.
        begin_i: In = bit(),
        /// Its value is late: it comes after the queries when value_i asks for it. Steady from begin_i to value_done_o.
        late_i: In = bit(),
        /// The token comes again: it has no queries. Steady likewise.
        again_i: InOption = bit().when(p.spec.recompute > 0),
        /// With done_o: a late value is wanted.
        value_i: In = bit(),
        /// Quantizers of queries, keys, values, fp32; steady from begin_i to value_done_o.
        quantizer_i: In = uint(96),
        /// Rows: queries, keys, values.
        rows: InStreams<RowBeat> = (3, p.spec.spec.axi.clone()),
        /// All of the token is here, but for a late value; up to the next beginning, or to value_i.
        done_o: Out = bit(),
        /// All of the token is here; up to the next beginning.
        value_done_o: Out = bit(),
        /// The key; with done_o, and up to the next beginning.
        key_o: OutArray = uint(16).array(p.spec.width),
        /// The value; with value_done_o. Zeros from a beginning up to value_i.
        value_o: OutArray = uint(16).array(p.spec.width),
        /// Tokens that were saved come back: key and value are 0 from the next cycle on.
        restores_i: InOption = bit().when(p.spec.save),
        /// A beat of the key or of the value of such a token, as it was saved. Nothing is wanted meanwhile.
        vector_valid_i: InOption = bit().when(p.spec.save),
        /// It is of the value.
        vector_value_i: InOption = bit().when(p.spec.save),
        /// Its place in the vector.
        vector_beat_i: InOption = uint(bits_for(p.spec.vector_beats().into())).when(p.spec.save),
        /// Its elements.
        vector_data_i: InOption = uint(16 * p.spec.spec.lanes()).when(p.spec.save),
        /// Read a tile of the queries, which follow one another.
        read_i: In = bit(),
        /// Which one.
        tile_i: In = uint(bits_for(p.tiles().into())),
        /// The tile.
        tile_o: OutArray = uint(16).array(p.spec.spec.columns),
        /// Numbers that were saturated in this cycle.
        saturations_o: Out = uint(bits_for(p.spec.spec.lanes().into())),
    }
}

impl Block for TokenLoader {
    type Ports = TokenLoaderPorts;
    const ABOUT: About = About {
        name: "token_loader",
        summary: "key, value and queries of a token become integers",
        contract: "A row of keys, then a row of values, then a row of queries, each as in integer_lanes; a late\n\
            value is the last one. Zeros follow the end of a key or a value. A saved token brings its own integers.",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &TokenLoaderPorts) {
        let spec = &self.spec;
        let lanes = spec.spec.lanes();
        m.comment("Keys go in first; the next kind enters when all of the one before has left the lanes.");
        let kinds = ["Idle", "Key", "Value", "Query", "Wait", "Done"];
        let state = m.fsm("state", &kinds);
        let integers = m.instance("u_integers", IntegerLanes { lanes, lane: self.integer.clone() });
        m.connect(integers.clear_i, io.clear_i);
        let part = |k: u32| io.quantizer_i.slice(32 * k..32 * k + 32);
        let quantizer = select(&[(state.is("Key"), part(1)), (state.is("Value"), part(2))], part(0));
        m.connect(integers.quantizer_i, quantizer);
        let entered = m.reg_init("entered_q", bit(), 0);
        let chosen = [state.is("Query"), state.is("Key"), state.is("Value")];
        let (mut valid, mut data) = (bit().lit(0), io.rows.at(0).data.data);
        let (mut used, mut last) = (io.rows.at(0).bytes, io.rows.at(0).row_last);
        for (k, here) in (0u32..).zip(chosen) {
            let row = io.rows.at(k);
            let open = m.wire(&format!("open_{k}"), here & !entered.q);
            valid = valid | (row.valid & open);
            m.connect(row.ready, open & integers.input.ready);
            // The first kind is what all others leave.
            if k > 0 {
                data = mux(here, row.data.data, data);
                used = mux(here, row.bytes, used);
                last = mux(here, row.row_last, last);
            }
            m.unused(row.last);
        }
        m.connect(integers.input.valid, valid);
        let data = m.wire("row_data", data);
        let values = m.split("row_values", data, uint(16).array(lanes));
        m.connect_each("values", integers.input.values, values);
        let used = m.wire("row_bytes", used);
        m.connect(integers.input.used, used.slice(1..1 + integers.input.used.width()));
        m.connect(integers.input.last, last);
        m.unused(used);
        let leaves = m.wire("leaves", integers.output.fire());
        let row_ends = m.wire("row_ends", leaves & integers.output.last);
        let row_enters = m.wire("row_enters", integers.input.fire() & integers.input.last);
        entered.next(!io.clear_i & !row_ends & (entered.q | row_enters));
        m.connect(io.saturations_o, integers.saturations_o);

        m.comment("Registers for key and value.");
        let beats = spec.vector_beats();
        let beat = m.reg_init("beat_q", uint(bits_for(beats.into())), 0);
        let zero = beat.q.ty().lit(0);
        beat.next(select(&[(io.clear_i | row_ends, zero), (leaves, beat.q.wrapping_add(1))], beat.q));
        for (name, here, to) in [("key", state.is("Key"), io.key_o), ("value", state.is("Value"), io.value_o)] {
            let kept = m.regs(name, uint(16 * lanes), beats);
            let takes = m.wire(&format!("{name}_takes"), leaves & here);
            let back = io.vector_valid_i.zip(io.vector_value_i).map(|(valid, value)| {
                let mine = if name == "value" { value } else { !value };
                m.wire(&format!("{name}_is_back"), valid & mine)
            });
            let empties = io.restores_i.map_or(io.begin_i, |restores| io.begin_i | restores);
            let empties = m.wire(&format!("{name}_empties"), empties);
            m.for_each(&format!("{name}_beats"), beats, |m, k| {
                let place = k.value(beat.q.width());
                let mut mine = m.wire(&format!("{name}_mine"), takes & beat.q.eq(place));
                let mut some = integers.output.values.packed();
                if let (Some(back), Some(at), Some(data)) = (back, io.vector_beat_i, io.vector_data_i) {
                    mine = m.wire(&format!("{name}_takes_beat"), mine | (back & at.eq(place)));
                    some = mux(back, data, some);
                }
                kept.next_when(m, k, mine | empties, mux(empties, uint(16 * lanes).lit(0), some));
            });
            let all = m.split(&format!("{name}_all"), kept.q.packed(), uint(16).array(spec.width));
            m.connect_each(&format!("{name}_out"), to, all);
        }

        m.comment("A memory for queries.");
        let queries = m.instance("u_queries", self.queries());
        m.connect(queries.clear_i, io.clear_i | io.begin_i);
        let asks = state.is("Query");
        m.connect(queries.input.valid, integers.output.valid & asks);
        let values = integers.output.values;
        m.connect_each("query_values", queries.input.values, values);
        connect_all!(m, queries.input, integers.output, [used, last]);
        m.connect(integers.output.ready, mux(asks, queries.input.ready, 1));
        m.unused(queries.rows_o);
        m.connect(queries.read_i, io.read_i);
        m.connect(queries.row_i, uint(index_width(1)).lit(0));
        m.connect(queries.tile_i, fit(io.tile_i, queries.tile_i.width()));
        m.connect_each("tile", io.tile_o, queries.tile_o);
        m.connect(io.done_o, state.is("Done") | state.is("Wait"));
        m.connect(io.value_done_o, state.is("Done"));

        for from in kinds {
            state.goto(from, io.clear_i, "Idle");
        }
        state.goto("Idle", io.begin_i, "Key");
        state.goto("Key", row_ends & io.late_i, "Query");
        state.goto("Key", row_ends, "Value");
        if let Some(again) = io.again_i {
            state.goto("Value", row_ends & again, "Done");
        }
        state.goto("Value", row_ends & io.late_i, "Done");
        state.goto("Value", row_ends, "Query");
        state.goto("Query", row_ends & io.late_i, "Wait");
        state.goto("Query", row_ends, "Done");
        state.goto("Wait", io.value_i, "Value");
        state.goto("Done", io.begin_i, "Key");
    }
}
