//! Products with the context: a row of x stays while keys, or columns of values, pass by.

use super::titanus_spec::{COUNT, SumBeat, TitanusSpec};
use crate::blocks::common::stream::stream_width_converter::Part;
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts};
use crate::blocks::titanus::{ContextMemory, DotResult};
use crate::lang::{
    About, Block, Field, In, InArray, InStream, Module, Out, OutBundle, OutStream, Signal, Stream, bit, bundle,
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
        /// Token of the keys.
        token: Field = p.token(),
        /// Group of tokens of the values.
        group: Field = p.group(),
        /// Tile of the keys, or of the values' channel.
        tile: Field = p.tile(),
        /// Channel within the tile.
        channel: Field = p.channel(),
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
        data_i: InArray = sint(8).array(p.spec.lanes),
        /// Sums, row by row.
        sum: OutStream<SumBeat> = p.spec.results(),
        /// For one cycle: a dot product is done.
        done_o: Out = bit(),
        /// With done_o: its multiplications that were skipped.
        skipped_o: Out = p.spec.engine().skipped(),
        /// The engine takes a beat.
        computing_o: Out = bit(),
    }
}

impl ContextProducts {
    fn gather(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: 32, output_width: 32 * self.spec.results(), granule: 32 }
    }
}

impl Block for ContextProducts {
    type Ports = ContextProductsPorts;
    const ABOUT: About = About {
        name: "context_products",
        summary: "rows of x times keys or values of the context, on a computing engine",
        contract: "For each row and result j: the dot product of the row with keys or values. Keys: the keys of\n\
            token j, from the first tile on. Values: channel j of the values of tokens 0 on, counted from the first\n\
            channel of the first tile. A tile of keys, or as many values, a cycle; between rows one cycle per word\n\
            of x.",
        reference: "Titanus, section 4.2",
    };

    fn build(&self, m: &mut Module, io: &ContextProductsPorts) {
        let lanes = self.spec.lanes;
        let low = lanes.trailing_zeros();
        let going = m.wire("going", !io.clear_i);
        let fsm = m.fsm("state", &["Fill", "Run"]);
        let engine = m.instance("u_engine", self.spec.engine());

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

        m.comment("Results, and the words of each.");
        let held = m.reg_init("held_q", bit(), 0);
        let moves = m.wire("moves", !held.q | engine.input.ready);
        let issue = m.wire("issue", fsm.is("Run") & moves & going);
        let word = m.reg_init("word_q", at_ty, 0);
        let result = m.reg_init("result_q", uint(COUNT), 0);
        let word_last = m.wire("word_last", word.q.eq(end.q));
        let row_last = m.wire("row_last", word_last & result.q.eq(io.results_i.wrapping_sub(1)));
        let none = mux(word_last, at_ty.lit(0), word.q.wrapping_add(1));
        word.next(mux(io.clear_i, at_ty.lit(0), mux(issue, none, word.q)));
        let next = mux(row_last, uint(COUNT).lit(0), result.q.wrapping_add(word_last.extend(COUNT)));
        result.next(mux(io.clear_i, uint(COUNT).lit(0), mux(issue, next, result.q)));
        held.next((issue | (held.q & !moves)) & going);
        let x = buffer.read("x_word", issue, to_address(word.q));
        m.connect(io.read_o, issue);
        let place = &io.place;
        let fit =
            |value: Signal, width: u32| if value.width() < width { value.extend(width) } else { value.truncate(width) };
        let tiles = place.tile.width();
        let ahead = m.wire("tile_ahead", mux(io.values_i, fit(result.q.slice(low..COUNT), tiles), fit(word.q, tiles)));
        m.connect(place.values, io.values_i);
        m.connect(place.token, fit(result.q, place.token.width()));
        m.connect(place.group, fit(word.q, place.group.width()));
        m.connect(place.tile, io.first_tile_i.wrapping_add(ahead));
        m.connect(place.channel, result.q.slice(0..low));

        m.comment("Beats of the engine.");
        let (input, last) = (&engine.input, m.reg("last_q", bit()));
        last.next_when(issue, word_last);
        let length = m.reg("length_q", input.length.ty());
        let some = io.elements_i.slice(0..low);
        let full = input.length.ty().lit(lanes);
        let rest = m.wire("rest", mux(some.any(), some.extend(low + 1), full));
        length.next_when(issue, mux(word_last, rest, full));
        m.connect(engine.clear_i, io.clear_i);
        m.connect(input.valid, held.q);
        m.connect(input.length, length.q);
        m.connect(input.a_signed, !io.values_i);
        m.connect(input.a.packed(), x);
        m.connect_each("context", input.b, io.data_i);
        m.connect(input.last, last.q);
        m.connect(io.computing_o, input.fire());

        self.sums(m, io, &engine.output);
        fsm.goto("Fill", io.clear_i, "Fill");
        fsm.goto("Fill", whole, "Run");
        fsm.goto("Run", io.clear_i | (issue & row_last), "Fill");
    }
}

impl ContextProducts {
    /// Dot products as beats of sums.
    fn sums(&self, m: &mut Module, io: &ContextProductsPorts, output: &Stream<DotResult>) {
        let lanes = self.spec.results();
        let gather: StreamWidthConverterPorts = m.instance("u_gather", self.gather());
        m.connect(gather.clear_i, io.clear_i);
        m.connect_handshake(&gather.input, output);
        m.connect(gather.input.data.data, output.sum.extend(32).as_uint());
        m.connect(gather.input.strobe, 1);
        let left = m.reg_init("gathered_q", uint(COUNT), 0);
        let last = m.wire("gather_last", left.q.eq(io.results_i.wrapping_sub(1)));
        let done = m.wire("done", output.fire());
        let zero = uint(COUNT).lit(0);
        left.next(mux(io.clear_i | (done & last), zero, mux(done, left.q.wrapping_add(1), left.q)));
        m.connect(gather.input.last, last);
        m.unused(output.overlong);
        m.connect(io.done_o, done);
        m.connect(io.skipped_o, output.skipped);
        let sums = m.split("sums", gather.output.data.data, sint(32).array(lanes));
        m.connect_each("sum", io.sum.sums, sums);
        m.unused(gather.output.strobe);
        m.connect_handshake(&io.sum, &gather.output);
        m.connect(io.sum.last, gather.output.last);
    }
}
