//! Products with the context: a row of x stays while keys, or columns of values, pass by.

use super::titanus_spec::{COUNT, SumBeat, TitanusSpec};
use crate::accelerators::sizes::fit;
use crate::blocks::common::stream::stream_width_converter::Part;
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts};
use crate::blocks::titanus::{ComputingEnginePorts, ContextMemory};
use crate::lang::{
    About, Block, Field, In, InArray, InStream, Module, Out, OutBundle, OutStream, Signal, bit, bundle, cat,
    index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ContextProducts {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
}

bundle! {
    /// A place in the context that is to be read.
    pub struct ContextPlace(p: ContextMemory) {
        /// One channel of a group of tokens, not a tile of a token.
        values: Field = bit(),
        /// Tokens of the keys, as many as there are engines.
        row: Field = p.row(),
        /// Group of tokens of the values.
        group: Field = p.group(),
        /// Tile of the keys, or of the values' channel.
        tile: Field = p.tile(),
        /// Channels within the tile, as many as there are engines.
        channels: Field = p.channels(),
    }
}

ports! {
    /// Ports of [`ContextProducts`].
    pub struct ContextProductsPorts(p: &ContextProducts) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// Products with values, not with keys; this and the next three are steady while anything is inside.
        values_i: In = bit(),
        /// Elements of a row of x, from 1 on.
        elements_i: In = uint(COUNT),
        /// Results of a row, from 1 on.
        results_i: In = uint(COUNT),
        /// First tile of the context.
        first_tile_i: In = uint(index_width(p.spec.tiles.into())),
        /// Rows of x, with as many elements a word as a tile has; elements after the end of a row are ignored.
        x: InStream<Part> = (8 * p.spec.lanes, 8),
        /// The context is read.
        read_o: Out = bit(),
        /// Where.
        place: OutBundle<ContextPlace> = p.spec.context_memory(),
        /// The data read, a cycle later.
        data_i: InArray = sint(8).array(p.spec.lanes * p.spec.engines),
        /// Sums, row by row.
        sum: OutStream<SumBeat> = p.spec.results(),
        /// Multiplications of the dot products that are done in this cycle.
        multiplications_o: Out = p.spec.multiplications(),
        /// Skipped ones among them.
        skipped_o: Out = p.spec.multiplications(),
        /// The engines take a beat.
        computing_o: Out = bit(),
    }
}

impl ContextProducts {
    fn gather(&self) -> StreamWidthConverter {
        let Self { spec } = self;
        StreamWidthConverter { input_width: 32 * spec.engines, output_width: 32 * spec.results(), granule: 32 }
    }
}

impl Block for ContextProducts {
    type Ports = ContextProductsPorts;
    const ABOUT: About = About {
        name: "context_products",
        summary: "rows of x times keys or values of the context, on computing engines",
        contract: "For each row and result j: the dot product of the row with keys or values. Keys: the keys of\n\
            token j, from the first tile on. Values: channel j of the values of tokens 0 on, counted from the first\n\
            channel of the first tile. As many results at once as there are engines: a tile of keys, or as many\n\
            values, a cycle and engine; between rows one cycle per word of x.",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &ContextProductsPorts) {
        let (lanes, engines) = (self.spec.lanes, self.spec.engines);
        let (low, each) = (lanes.trailing_zeros(), engines.trailing_zeros());
        let going = m.wire("going", !io.clear_i);
        let fsm = m.fsm("state", &["Fill", "Run"]);

        m.comment("A row of x.");
        let words = self.spec.x_words();
        let at_ty = uint(index_width(words.into()));
        let buffer = m.memory("x", words.max(2), 8 * lanes, 8 * lanes);
        let fill = m.reg_init("fill_q", at_ty, 0);
        m.connect(io.x.ready, fsm.is("Fill") & going);
        m.unused(io.x.strobe);
        let filled = m.wire("filled", io.x.fire());
        let whole = m.wire("row_whole", filled & io.x.last);
        let address = buffer.address_type().width;
        let to_address = |at: Signal| if at.width() < address { at.extend(address) } else { at.truncate(address) };
        buffer.write(filled, to_address(fill.q), io.x.data.data);
        fill.next(mux(io.clear_i | whole, at_ty.lit(0), mux(filled, fill.q.wrapping_add(1), fill.q)));
        let end = m.reg("end_q", at_ty);
        end.next_when(whole, fill.q);

        m.comment("Results, as many at once as there are engines, and the words of each.");
        let held = m.reg_init("held_q", bit(), 0);
        let ready = m.net("engines_ready", bit());
        let moves = m.wire("moves", !held.q | ready);
        let issue = m.wire("issue", fsm.is("Run") & moves & going);
        let word = m.reg_init("word_q", at_ty, 0);
        let result = m.reg_init("result_q", uint(COUNT), 0);
        let word_last = m.wire("word_last", word.q.eq(end.q));
        let last_result = m.wire("last_result", io.results_i.wrapping_sub(1));
        let last_results = m.wire("last_results", last_result.slice(each..COUNT).extend(COUNT));
        let results_last = m.wire("results_last", result.q.eq(last_results));
        let row_last = m.wire("row_last", word_last & results_last);
        let none = mux(word_last, at_ty.lit(0), word.q.wrapping_add(1));
        word.next(mux(io.clear_i, at_ty.lit(0), mux(issue, none, word.q)));
        let next = mux(row_last, uint(COUNT).lit(0), result.q.wrapping_add(word_last.extend(COUNT)));
        result.next(mux(io.clear_i, uint(COUNT).lit(0), mux(issue, next, result.q)));
        held.next((issue | (held.q & !moves)) & going);
        let x = buffer.read("x_word", issue, to_address(word.q));
        m.connect(io.read_o, issue);
        let place = &io.place;
        let tiles = place.tile.width();
        let ahead =
            m.wire("tile_ahead", mux(io.values_i, fit(result.q.slice(low - each..COUNT), tiles), fit(word.q, tiles)));
        m.connect(place.values, io.values_i);
        m.connect(place.row, fit(result.q, place.row.width()));
        m.connect(place.group, fit(word.q, place.group.width()));
        m.connect(place.tile, io.first_tile_i.wrapping_add(ahead));
        m.connect(place.channels, result.q.slice(0..low - each));

        m.comment("Beats of the engines, which all take them in the same cycle.");
        let last = m.reg("last_q", bit());
        last.next_when(issue, word_last);
        let length = m.reg("length_q", uint(low + 1));
        let some = io.elements_i.slice(0..low);
        let full = length.q.ty().lit(lanes);
        let rest = m.wire("rest", mux(some.any(), some.extend(low + 1), full));
        length.next_when(issue, mux(word_last, rest, full));
        m.connect(io.computing_o, held.q & ready);
        let used = self.used(m, last_result);
        let row_ends = m.reg("results_last_q", bit());
        row_ends.next_when(issue, results_last);
        let all: Vec<ComputingEnginePorts> = (0..engines)
            .map(|e| {
                let engine = m.instance(&format!("u_engine_{e}"), self.spec.engine());
                let input = &engine.input;
                m.connect(engine.clear_i, io.clear_i);
                m.connect(input.valid, held.q);
                let idle = row_ends.q & !used[e as usize];
                m.connect(input.length, length.q & (!idle).repeat(low + 1));
                m.connect(input.a_signed, !io.values_i);
                m.connect(input.a.packed(), x);
                m.for_each(&format!("context_{e}"), lanes, |m, l| {
                    m.connect(input.b.at(l), io.data_i.at(l + e * lanes))
                });
                m.connect(input.last, last.q);
                engine
            })
            .collect();
        m.connect(ready, all[0].input.ready);

        self.sums(m, io, &all, (&used, last_results));
        fsm.goto("Fill", io.clear_i, "Fill");
        fsm.goto("Fill", whole, "Run");
        fsm.goto("Run", io.clear_i | (issue & row_last), "Fill");
    }
}

impl ContextProducts {
    /// Of each engine, whether it has one of the last results of a row.
    fn used(&self, m: &mut Module, last_result: Signal) -> Vec<Signal> {
        let each = self.spec.engines.trailing_zeros();
        let has = |e: u32| if e == 0 { bit().lit(1) } else { last_result.slice(0..each).ge(e) };
        (0..self.spec.engines).map(|e| m.wire(&format!("used_{e}"), has(e))).collect()
    }

    /// Dot products as beats of sums.
    fn sums(
        &self,
        m: &mut Module,
        io: &ContextProductsPorts,
        engines: &[ComputingEnginePorts],
        (used, last_results): (&[Signal], Signal),
    ) {
        let lanes = self.spec.results();
        let gather: StreamWidthConverterPorts = m.instance("u_gather", self.gather());
        m.connect(gather.clear_i, io.clear_i);
        let done = m.wire("done", engines[0].output.fire());
        let left = m.reg_init("gathered_q", uint(COUNT), 0);
        let last = m.wire("gather_last", left.q.eq(last_results));
        let zero = uint(COUNT).lit(0);
        left.next(mux(io.clear_i | (done & last), zero, mux(done, left.q.wrapping_add(1), left.q)));
        let (mut sums, mut strobes) = (vec![], vec![]);
        for (e, engine) in engines.iter().enumerate() {
            let output = &engine.output;
            m.connect(output.ready, gather.input.ready);
            m.unused(output.overlong);
            if e > 0 {
                m.unused(output.valid);
                m.unused(engine.input.ready);
            }
            sums.insert(0, output.sum.extend(32).as_uint());
            strobes.insert(0, used[e] | !last);
        }
        m.connect(gather.input.valid, engines[0].output.valid);
        m.connect(gather.input.data.data, cat(&sums));
        m.connect(gather.input.strobe, cat(&strobes));
        m.connect(gather.input.last, last);

        m.comment("Multiplications, and skipped ones. An engine without a result has none.");
        let ty = io.skipped_o.ty();
        let none = ty.lit(0);
        let elements = m.wire("row_elements", fit(io.elements_i, ty.width));
        let (mut all, mut skipped) = (none, none);
        for (engine, &strobe) in engines.iter().zip(strobes.iter().rev()) {
            all = all.wrapping_add(mux(strobe, elements, 0));
            skipped = skipped.wrapping_add(engine.output.skipped.extend(ty.width));
        }
        m.connect(io.multiplications_o, mux(done, all, 0));
        m.connect(io.skipped_o, mux(done, skipped, 0));

        let sums = m.split("sums", gather.output.data.data, sint(32).array(lanes));
        m.connect_each("sum", io.sum.sums, sums);
        m.unused(gather.output.strobe);
        m.connect_handshake(&io.sum, &gather.output);
        m.connect(io.sum.last, gather.output.last);
    }
}
