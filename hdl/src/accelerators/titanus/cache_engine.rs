//! The engine for the cache, between the shell's streams: controller, tiles, writer, reader, the context.

use super::block_mover::BlockMover;
use super::cache_controller::{CacheController, CacheControllerPorts, READERS};
use super::context_products::ContextPlace;
use super::linear_controller::WORDS;
use super::tile_rows::TileRows;
use super::titanus_spec::{BLOCK_BYTES, TitanusSpec};
use super::token_tiles::{TokenTiles, TokenTilesPorts};
use crate::accelerators::engines::{fork, merge};
use crate::accelerators::rows::{rows_of, rows_to_words};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts, Word};
use crate::blocks::titanus::cache_writer::TOKENS;
use crate::blocks::titanus::{CacheReaderPorts, CacheWriterPorts, OpenTail};
use crate::lang::{
    About, Block, Bundle, In, InBundle, InStream, InStreams, Module, Out, OutArray, OutStream, OutStreams, Signal,
    Stream, bit, cat, index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct CacheEngine {
        /// The bus; at most 512 bits wide.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
    rules = |p, rules| {
        rules.part("dma", &p.controller());
        rules.part("axi", &p.tiles());
        rules.part("axi", &p.rows());
        rules.part("axi", &p.blocks());
        rules.part("axi", &p.mover());
        let width = p.axi.data_width;
        rules.demand(width <= 8 * BLOCK_BYTES, "axi.data_width", width, "at most 512, a block of a stream");
    };
}

impl CacheEngine {
    fn controller(&self) -> CacheController {
        CacheController { axi: self.axi.clone(), dma: self.dma.clone(), spec: self.spec.clone() }
    }

    fn tiles(&self) -> TokenTiles {
        TokenTiles { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn rows(&self) -> TileRows {
        TileRows { axi: self.axi.clone(), spec: self.spec.clone() }
    }

    fn mover(&self) -> BlockMover {
        BlockMover { axi: self.axi.clone(), dma: self.dma.clone() }
    }

    fn blocks(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: 8 * BLOCK_BYTES, granule: 8 }
    }
}

ports! {
    /// Ports of [`CacheEngine`].
    pub struct CacheEnginePorts(p: &CacheEngine) {
        /// Drops everything, with the cached tokens.
        abort_i: In = bit(),
        /// No operation is in hand, and nothing is being given up.
        idle_o: Out = bit(),
        /// A job begins: damage is forgotten.
        began_i: In = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// A tile is appended or restored in this cycle.
        computing_o: Out = bit(),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// Tokens of the context.
        context_tokens_o: Out = uint(TOKENS),
        /// Reads the context.
        read_i: In = bit(),
        /// Where.
        place: InBundle<ContextPlace> = p.spec.context_memory(),
        /// The data read, a cycle later.
        data_o: OutArray = sint(8).array(p.spec.lanes),
        /// Tokens of the open streams; 0 without.
        tokens_o: Out = uint(TOKENS),
        /// A key, a value of them was out of tolerance when its channel had no level left.
        beyond_o: Out = uint(2),
        /// Kind of damage of the job: 0 none, 2 of a stream, 3 an area that is full.
        damage_o: Out = uint(8),
        /// It is of values.
        damage_values_o: Out = bit(),
        /// Address of the area.
        damage_where_o: Out = uint(64),
        /// A block of a stream came from memory.
        block_read_o: Out = bit(),
        /// A block of a stream went to memory.
        block_written_o: Out = bit(),
        /// What to read.
        read_command: OutStreams<DmaCommand> = (READERS, (p.axi.clone(), p.dma.clone())),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// The rows.
        write: OutStream<Word> = p.axi.data_width,
        /// How writing ended.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

impl Block for CacheEngine {
    type Ports = CacheEnginePorts;
    const ABOUT: About = About {
        name: "cache_engine",
        summary: "appends to the cache of the Titanus core and restores it",
        contract: "Operations as cache_controller describes them, streams as in cache_writer and cache_reader.\n\
            After abort_i nothing is cached.",
        reference: "Titanus, section 4",
    };

    fn build(&self, m: &mut Module, io: &CacheEnginePorts) {
        let controller = m.instance("u_controller", self.controller());
        for (to, from) in [
            (controller.abort_i, io.abort_i),
            (controller.window_base_i, io.window_base_i),
            (controller.window_limit_i, io.window_limit_i),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&controller.operation, &io.operation);
        m.connect_stream(&io.operation_end, &controller.operation_end);
        io.read_command.connect(m, &controller.read_command);
        controller.read_end.connect(m, &io.read_end);
        m.connect_stream(&io.write_command, &controller.write_command);
        m.connect_stream(&controller.write_end, &io.write_end);

        let tiles = m.instance("u_tiles", self.tiles());
        let writer = m.instance("u_writer", self.spec.writer());
        let reader = m.instance("u_reader", self.spec.reader());
        m.connect(io.idle_o, controller.idle_o & writer.idle_o & reader.idle_o);
        let lines = rows_of(m, "area", &self.axi);
        fork(m, "first_rows", controller.work.restore, &io.read.at(0), (&lines, &tiles.k));
        m.connect_stream(&tiles.v, &io.read.at(1));
        let blocks = self.append(m, io, &controller, &tiles, &writer);
        let rows = self.restore(m, io, &controller, &lines, (&writer, &reader));
        merge(m, ("write", &self.axi.data_width), controller.work.restore, &io.write, (&rows, &blocks));
        self.damage(m, io, &controller);
        m.connect(io.tokens_o, writer.tokens_o);
        m.connect(io.beyond_o, cat(&[writer.overflow_v_o, writer.overflow_k_o]));
        m.connect(io.computing_o, writer.tile.fire() | reader.tile.fire());
    }
}

/// The fields with which the open sequence was begun.
fn begun(m: &mut Module, name: &str, controller: &CacheControllerPorts, value: Signal) -> Signal {
    let register = m.reg(&format!("{name}_q"), value.ty());
    register.next_when(controller.start.fire(), value);
    register.q
}

impl CacheEngine {
    /// Rows to tiles, to streams, to blocks; returns the bytes of blocks.
    fn append(
        &self,
        m: &mut Module,
        io: &CacheEnginePorts,
        controller: &CacheControllerPorts,
        tiles: &TokenTilesPorts,
        writer: &CacheWriterPorts,
    ) -> Stream<Word> {
        let work = &controller.work;
        let (clear, begin) = (io.abort_i, controller.begin_o);
        m.connect(tiles.clear_i, clear);
        m.connect(writer.clear_i, clear);
        m.connect_stream(&writer.start, &controller.start);
        m.comment("Tokens wait for the sequence that they belong to.");
        let left = m.reg_init("tokens_left_q", uint(TOKENS), 0);
        let open = m.wire("tiles_wanted", left.q.any() & !controller.start.valid);
        let (from, to) = (&tiles.tile, &writer.tile);
        m.connect(to.valid, from.valid & open);
        m.connect(from.ready, to.ready & open);
        m.connect_each("keys", to.k, from.k);
        m.connect_each("values", to.v, from.v);
        let tile = uint(index_width(self.spec.tiles.into()));
        let at = m.reg_init("appended_q", tile, 0);
        let moves = m.wire("appends", to.fire());
        let whole = m.wire("token_whole", moves & at.q.eq(self.spec.tiles - 1));
        at.next(mux(clear | whole, tile.lit(0), mux(moves, at.q.wrapping_add(1), at.q)));
        let zero = uint(TOKENS).lit(0);
        let wanted = mux(work.restore, zero, work.tokens);
        left.next(mux(clear, zero, mux(begin, wanted, left.q.wrapping_sub(whole.extend(TOKENS)))));

        let mover = m.instance("u_mover", self.mover());
        m.connect(mover.clear_i, clear);
        m.connect(mover.begin_i, begin);
        m.connect(mover.area_k_i, controller.area_k_o);
        m.connect(mover.area_v_i, controller.area_v_o);
        m.connect(mover.lines_i, work.lines);
        m.connect_stream(&mover.block, &writer.block);
        m.connect_stream(&controller.block_command, &mover.command);
        m.connect(io.block_written_o, mover.moved_o);
        m.comment(
            "Tokens of a prefill that goes on with the next append wait for its end; none of them is on its way.",
        );
        let prefill = begun(m, "prefill", controller, controller.start.prefill);
        let filling = m.wire("filling", writer.open_o & writer.tokens_o.lt(prefill));
        let settled = m.wire("settled", !left.q.any() & (writer.settled_o | filling) & mover.empty_o);
        for (to, from) in [
            (controller.settled_i, settled),
            (controller.filling_i, filling),
            (controller.full_i, cat(&[mover.full_v_o, mover.full_k_o])),
            (controller.overflow_i, writer.overflow_k_o | writer.overflow_v_o),
            (controller.open_tokens_i, writer.tokens_o),
            (controller.blocks_k_i, writer.blocks_k_o),
            (controller.blocks_v_i, writer.blocks_v_o),
        ] {
            m.connect(to, from);
        }
        mover.write.clone()
    }

    /// Blocks to tiles. Tiles go to rows, which it returns, or to the context.
    fn restore(
        &self,
        m: &mut Module,
        io: &CacheEnginePorts,
        controller: &CacheControllerPorts,
        lines: &Stream<RowBeat>,
        (writer, reader): (&CacheWriterPorts, &CacheReaderPorts),
    ) -> Stream<Word> {
        let (work, values) = (&controller.work, controller.values_o);
        let size = (BLOCK_BYTES, true);
        let tail = m.wire("tail", mux(values, writer.tail_v.pack(), writer.tail_k.pack()));
        let tail = OpenTail::unpack(m, "tail", &size, tail);
        reader.tail.drive(m, "tail_to_read", &tail);
        m.connect(reader.clear_i, io.abort_i);
        m.connect_stream(&reader.read, &controller.read);
        m.connect_stream(&controller.read_done, &reader.end);
        let words: StreamWidthConverterPorts = m.instance("u_blocks", self.blocks());
        m.connect(words.clear_i, io.abort_i);
        rows_to_words(m, "line", lines, &words);
        m.connect(reader.block.valid, words.output.valid);
        m.connect(words.output.ready, reader.block.ready);
        m.connect(reader.block.data.data, words.output.data.data);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
        m.connect(io.block_read_o, reader.block.fire());

        let rows = m.instance("u_rows", self.rows());
        m.connect(rows.clear_i, io.abort_i);
        m.connect(rows.channels_i, work.channels);
        let kept = m.wire("restores_context", work.keep);
        let (from, to) = (&reader.tile, &rows.tile);
        m.connect(to.valid, from.valid & !kept);
        m.connect(from.ready, kept | to.ready);
        m.connect_each("rebuilt", to.x, from.x);
        m.connect(to.token_last, from.token_last);
        m.connect(to.last, from.last);
        self.context(m, io, controller, (writer, reader));
        rows.write.clone()
    }

    /// Tokens that are kept, from either side, and their readers.
    fn context(
        &self,
        m: &mut Module,
        io: &CacheEnginePorts,
        controller: &CacheControllerPorts,
        (writer, reader): (&CacheWriterPorts, &CacheReaderPorts),
    ) {
        let (work, values) = (&controller.work, controller.values_o);
        let context = m.instance("u_context", self.spec.context_memory());
        let restored = m.wire("restored_tile", reader.tile.fire() & work.restore);
        let appended = m.wire("appended_tile", writer.tile.fire() & !work.restore);
        let moves = m.wire("context_moves", (restored | appended) & work.keep);
        m.connect(context.write_k_i, moves & !(restored & values));
        m.connect(context.write_v_i, moves & !(restored & !values));
        let (tile_ty, token_ty) = (context.write_tile_i.ty(), context.write_token_i.ty());
        let tile = m.reg_init("context_tile_q", tile_ty, 0);
        let token = m.reg_init("context_token_q", token_ty, 0);
        let whole = m.wire("context_token_whole", moves & tile.q.eq(self.spec.tiles - 1));
        // A side of a restore ends with its last token.
        let anew = m.wire("context_anew", io.abort_i | controller.begin_o | (restored & reader.tile.last));
        tile.next(mux(anew | whole, tile_ty.lit(0), mux(moves, tile.q.wrapping_add(1), tile.q)));
        // A sequence that goes on does so after its tokens.
        let goes_on = m.wire("context_goes_on", controller.begin_o & !work.restore & !work.begins);
        let first = m.wire("context_first", writer.tokens_o.slice(0..token_ty.width) & goes_on.repeat(token_ty.width));
        token.next(mux(anew, first, mux(whole, token.q.wrapping_add(1), token.q)));
        m.connect(context.write_tile_i, tile.q);
        m.connect(context.write_token_i, token.q);
        let sides = [
            ("k", writer.tile.k, begun(m, "threshold_k", controller, controller.start.threshold_k), context.k_i),
            ("v", writer.tile.v, begun(m, "threshold_v", controller, controller.start.threshold_v), context.v_i),
        ];
        for (name, fresh, threshold, to) in sides {
            m.for_each(&format!("context_{name}"), self.spec.lanes, |m, l| {
                let x = fresh.at(l);
                let magnitude =
                    m.wire(&format!("magnitude_{name}"), mux(x.msb(), (-x).as_uint(), x.extend(9).as_uint()));
                let pruned = m.wire(&format!("pruned_{name}"), magnitude.lt(threshold.extend(9)));
                let kept = x.as_uint() & (!pruned).repeat(8);
                m.connect(to.at(l), mux(work.restore, reader.tile.x.at(l), kept.as_sint()));
            });
        }
        let (read, place) = (&context, &io.place);
        for (to, from) in [
            (read.read_i, io.read_i),
            (read.read_values_i, place.values),
            (read.read_token_i, place.token),
            (read.read_group_i, place.group),
            (read.read_tile_i, place.tile),
            (read.read_channel_i, place.channel),
        ] {
            m.connect(to, from);
        }
        m.connect_each("context_data", io.data_o, context.data_o);
        let tokens = m.reg_init("context_tokens_q", uint(TOKENS), 0);
        let zero = uint(TOKENS).lit(0);
        m.comment("A context of another sequence must not go on with a new cache.");
        let empties = m.wire("context_empties", io.abort_i | (controller.begin_o & (work.keep | work.begins)));
        let fills = m.wire("context_fills", controller.good_o & work.keep);
        let all = mux(work.restore, work.tokens, writer.tokens_o);
        tokens.next(mux(empties, zero, mux(fills, all, tokens.q)));
        m.connect(io.context_tokens_o, tokens.q);
        m.connect(controller.context_tokens_i, tokens.q);
    }

    fn damage(&self, m: &mut Module, io: &CacheEnginePorts, controller: &CacheControllerPorts) {
        let found = m.wire("damaged", controller.damage_o.any());
        let kind = m.reg_init("damage_q", uint(8), 0);
        kind.next(mux(found, controller.damage_o, mux(io.began_i, uint(8).lit(0), kind.q)));
        let values = m.reg_init("damage_values_q", bit(), 0);
        values.next(mux(found, controller.damage_values_o, !io.began_i & values.q));
        let place = m.reg_init("damage_where_q", uint(64), 0);
        let area = mux(controller.damage_values_o, controller.area_v_o, controller.area_k_o);
        place.next(mux(found, area, mux(io.began_i, uint(64).lit(0), place.q)));
        m.connect(io.damage_o, kind.q);
        m.connect(io.damage_values_o, values.q);
        m.connect(io.damage_where_o, place.q);
    }
}
