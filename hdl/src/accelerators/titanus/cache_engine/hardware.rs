//! The hardware of the engine.

use super::super::block_mover::BlockMoverPorts;
use super::super::cache_work::{Sequence, Work};
use super::super::titanus_spec::{BLOCK_BYTES, COUNT};
use super::super::token_tiles::TokenTilesPorts;
use super::{CacheEngine, CacheEnginePorts, RESTORE};
use crate::accelerators::engine::{fork_all, merge_all};
use crate::accelerators::rows::{rows_of, rows_to_words};
use crate::accelerators::sizes::fit;
use crate::blocks::common::bus::RowBeat;
use crate::blocks::common::stream::{StreamWidthConverterPorts, Word};
use crate::blocks::titanus::cache_writer::{BLOCKS, TOKENS};
use crate::blocks::titanus::{CacheReaderPorts, CacheWriterPorts, OpenTail};
use crate::lang::{About, Block, Bundle, Module, Signal, Stream, bit, cat, connect_all, index_width, mux, uint};

impl Block for CacheEngine {
    type Ports = CacheEnginePorts;
    const ABOUT: About = About {
        name: "cache_engine",
        summary: "appends to the cache of the Titanus core and restores it",
        contract: "Operations as titanus_append and titanus_restore name their fields, checked and done as\n\
            operation_controller says; streams as in cache_writer and cache_reader. ERROR_SIZE (9) refuses another\n\
            number of tokens than the open sequence has, and more than an area or the context has room for.\n\
            An append ends when all its blocks have been written, or when its tokens wait for others of their prefill.\n\
            A restore ends when keys, then values, came to their end. A damaged stream and an area that is full are\n\
            ERROR_FIELD (15). With the option exact an element beyond all levels is ERROR_OVERFLOW (14).\n\
            After abort_i nothing is cached.",
        reference: "Titanus, section 4",
    };

    fn build(&self, m: &mut Module, io: &CacheEnginePorts) {
        let shell = &io.shell;
        let append = shell.decode(m, "u_append", self.append());
        let restore = shell.decode(m, "u_restore", self.restore());
        let controller = shell.controller(m, self.controller());
        let restores = m.wire("restores", shell.operation.opcode.eq(RESTORE));
        let work = Work::new(m, restores, &append, &restore, self.dma.row_width);
        m.comment("A new sequence.");
        let writer = m.instance("u_writer", self.spec.writer());
        let reader = m.instance("u_reader", self.spec.reader());
        let starting = m.reg_init("starting_q", bit(), 0);
        let waits = (controller.begin_o & work.begins) | (starting.q & !writer.start.ready);
        starting.next(waits & !shell.abort_i);
        m.connect_pairs([
            (writer.start.valid, starting.q & !shell.abort_i),
            (writer.start.prefill, append.prefill.extend(TOKENS)),
            (writer.start.threshold_k, append.key_threshold),
            (writer.start.threshold_v, append.value_threshold),
            (writer.start.bits_k, append.key_bits),
            (writer.start.bits_v, append.value_bits),
            (shell.idle_o, controller.idle_o & writer.idle_o & reader.idle_o),
            (shell.computing_o, writer.tile.fire() | reader.tile.fire()),
            (shell.overflows_o, bit().lit(0)),
            (controller.overflow_i, bit().lit(0)),
            (io.tokens_o, writer.tokens_o),
            (io.beyond_o, cat(&[writer.overflow_v_o, writer.overflow_k_o])),
        ]);
        let mover = m.instance("u_mover", self.mover());
        let lines = rows_of(m, "area", &self.axi);
        let tokens_in = self.append_tokens(m, io, (&work, controller.begin_o), (&writer, &mover), &lines);
        m.comment(
            "Tokens of a prefill that goes on with the next append wait for its end; none of them is on its way.",
        );
        let prefill = begun(m, "prefill", &writer, writer.start.prefill);
        let filling = m.wire("filling", writer.open_o & writer.tokens_o.lt(prefill));
        let tokens = m.reg_init("context_tokens_q", uint(TOKENS), 0);
        let sequence = Sequence {
            writer: &writer,
            reader: &reader,
            filling,
            context_tokens: tokens.q,
            settled: m.wire("settled", tokens_in & (writer.settled_o | filling) & mover.empty_o),
            starting: starting.q,
            full: [mover.full_k_o, mover.full_v_o],
        };
        let then = self.refuse(m, &work, &restore, &sequence, &controller);
        let course = self.course(m, shell.abort_i, &work, &sequence, &controller);
        self.place(m, &work, &course, &controller);
        let damage = Self::damage(m, io.began_i, &work, &sequence, &course);
        m.connect(io.damage_o, damage.kind);
        m.connect(io.damage_values_o, damage.values);
        m.connect(io.damage_where_o, damage.place);

        m.comment("Commands of blocks are the mover's, and commands of rows the controller's.");
        shell.read_command.connect(m, &controller.read_command);
        let commands = [controller.write_command.at(0), mover.command.clone()];
        let spec = (self.axi.clone(), self.dma.clone());
        merge_all(m, ("write_command", &spec), &[restores], &shell.write_command.at(0), &commands);
        m.connect(controller.other_taken_i.at(0), 0);
        m.connect(controller.other_taken_i.at(1), 0);
        m.connect(controller.other_taken_i.at(2), mover.command.fire());

        let rows = self.restore_tokens(m, io, (&work, course.values), &lines, (&writer, &reader));
        let to = shell.write.at(0);
        merge_all(m, ("write", &self.axi.data_width), &[restores], &to, &[rows, mover.write.clone()]);
        self.context(m, io, (&work, course.values), (&writer, &reader), controller.begin_o);
        m.connect(io.context_tokens_o, tokens.q);
        m.comment("A context of another sequence must not go on with a new cache.");
        let zero = uint(TOKENS).lit(0);
        let Some(good) = course.good else {
            // Later operations are checked before this one ends. After an error they are dropped with it.
            let changes = m.wire("context_changes", controller.right_o & (work.keep | work.begins));
            let all = mux(restores, fit(work.tokens, TOKENS), fit(then, TOKENS));
            let after = mux(work.keep, all, zero);
            tokens.next(mux(shell.abort_i, zero, mux(changes, after, tokens.q)));
            return;
        };
        let begins = controller.begin_o & (work.keep | work.begins);
        let empties = m.wire("context_empties", shell.abort_i | begins);
        let fills = m.wire("context_fills", good & work.keep);
        let all = mux(restores, work.tokens, writer.tokens_o);
        tokens.next(mux(empties, zero, mux(fills, all, tokens.q)));
    }
}

/// The fields with which the open sequence was begun.
fn begun(m: &mut Module, name: &str, writer: &CacheWriterPorts, value: Signal) -> Signal {
    let register = m.reg(&format!("{name}_q"), value.ty());
    register.next_when(writer.start.fire(), value);
    register.q
}

impl CacheEngine {
    /// Rows to tiles, to streams, to blocks. Returns whether all tokens are in.
    fn append_tokens(
        &self,
        m: &mut Module,
        io: &CacheEnginePorts,
        (work, begin): (&Work<'_>, Signal),
        (writer, mover): (&CacheWriterPorts, &BlockMoverPorts),
        lines: &Stream<RowBeat>,
    ) -> Signal {
        let (shell, clear) = (&io.shell, io.shell.abort_i);
        let tiles: TokenTilesPorts = m.instance("u_tiles", self.tiles());
        let streams = [lines.clone(), tiles.k.clone()];
        fork_all(m, "first_rows", &[work.restores], &shell.read.at(0), &streams);
        m.connect_stream(&tiles.v, &shell.read.at(1));
        m.connect(tiles.clear_i, clear);
        m.connect(writer.clear_i, clear);
        m.comment("Tokens wait for the sequence that they belong to.");
        let left = m.reg_init("tokens_left_q", uint(TOKENS), 0);
        let open = m.wire("tiles_wanted", left.q.any() & !writer.start.valid);
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
        let wanted = mux(work.restores, zero, work.tokens);
        left.next(mux(clear, zero, mux(begin, wanted, left.q.wrapping_sub(whole.extend(TOKENS)))));

        m.connect_pairs([
            (mover.clear_i, clear),
            (mover.begin_i, begin),
            (mover.area_k_i, work.areas[0]),
            (mover.area_v_i, work.areas[1]),
            (mover.lines_i, work.lines.extend(BLOCKS)),
        ]);
        m.connect_stream(&mover.block, &writer.block);
        m.connect(io.block_written_o, mover.moved_o);
        m.wire("tokens_in", !left.q.any())
    }

    /// Blocks to tiles. Tiles go to rows, which it returns, or to the context.
    fn restore_tokens(
        &self,
        m: &mut Module,
        io: &CacheEnginePorts,
        (work, values): (&Work<'_>, Signal),
        lines: &Stream<RowBeat>,
        (writer, reader): (&CacheWriterPorts, &CacheReaderPorts),
    ) -> Stream<Word> {
        let clear = io.shell.abort_i;
        let size = (BLOCK_BYTES, true);
        let tail = m.wire("tail", mux(values, writer.tail_v.pack(), writer.tail_k.pack()));
        let tail = OpenTail::unpack(m, "tail", &size, tail);
        reader.tail.drive(m, "tail_to_read", &tail);
        m.connect(reader.clear_i, clear);
        let words: StreamWidthConverterPorts = m.instance("u_blocks", self.blocks());
        m.connect(words.clear_i, clear);
        rows_to_words(m, "line", lines, &words);
        m.connect_handshake(&reader.block, &words.output);
        m.connect(reader.block.data.data, words.output.data.data);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
        m.connect(io.block_read_o, reader.block.fire());

        let rows = m.instance("u_rows", self.rows());
        m.connect(rows.clear_i, clear);
        m.connect(rows.channels_i, work.channels.extend(COUNT));
        let kept = m.wire("restores_context", work.keep);
        let (from, to) = (&reader.tile, &rows.tile);
        m.connect(to.valid, from.valid & !kept);
        m.connect(from.ready, kept | to.ready);
        m.connect_each("rebuilt", to.x, from.x);
        connect_all!(m, to, from, [token_last, last]);
        rows.write.clone()
    }

    /// Tokens that are kept, from either side, and their readers.
    fn context(
        &self,
        m: &mut Module,
        io: &CacheEnginePorts,
        (work, values): (&Work<'_>, Signal),
        (writer, reader): (&CacheWriterPorts, &CacheReaderPorts),
        begin: Signal,
    ) {
        let context = m.instance("u_context", self.spec.context_memory());
        let restored = m.wire("restored_tile", reader.tile.fire() & work.restores);
        let appended = m.wire("appended_tile", writer.tile.fire() & !work.restores);
        let moves = m.wire("context_moves", (restored | appended) & work.keep);
        m.connect(context.write_k_i, moves & !(restored & values));
        m.connect(context.write_v_i, moves & !(restored & !values));
        let (tile_ty, token_ty) = (context.write_tile_i.ty(), context.write_token_i.ty());
        let tile = m.reg_init("context_tile_q", tile_ty, 0);
        let token = m.reg_init("context_token_q", token_ty, 0);
        let whole = m.wire("context_token_whole", moves & tile.q.eq(self.spec.tiles - 1));
        // A side of a restore ends with its last token.
        let anew = m.wire("context_anew", io.shell.abort_i | begin | (restored & reader.tile.last));
        tile.next(mux(anew | whole, tile_ty.lit(0), mux(moves, tile.q.wrapping_add(1), tile.q)));
        // A sequence that goes on does so after its tokens.
        let goes_on = m.wire("context_goes_on", begin & !work.restores & !work.begins);
        let first = m.wire("context_first", writer.tokens_o.slice(0..token_ty.width) & goes_on.repeat(token_ty.width));
        token.next(mux(anew, first, mux(whole, token.q.wrapping_add(1), token.q)));
        m.connect(context.write_tile_i, tile.q);
        m.connect(context.write_token_i, token.q);
        let sides = [
            ("k", writer.tile.k, begun(m, "threshold_k", writer, writer.start.threshold_k), context.k_i),
            ("v", writer.tile.v, begun(m, "threshold_v", writer, writer.start.threshold_v), context.v_i),
        ];
        for (name, fresh, threshold, to) in sides {
            m.for_each(&format!("context_{name}"), self.spec.lanes, |m, l| {
                let x = fresh.at(l);
                let magnitude =
                    m.wire(&format!("magnitude_{name}"), mux(x.msb(), (-x).as_uint(), x.extend(9).as_uint()));
                let pruned = m.wire(&format!("pruned_{name}"), magnitude.lt(threshold.extend(9)));
                let kept = x.as_uint() & (!pruned).repeat(8);
                m.connect(to.at(l), mux(work.restores, reader.tile.x.at(l), kept.as_sint()));
            });
        }
        let (read, place) = (&context, &io.place);
        m.connect_pairs([
            (read.read_i, io.read_i),
            (read.read_values_i, place.values),
            (read.read_row_i, place.row),
            (read.read_group_i, place.group),
            (read.read_tile_i, place.tile),
            (read.read_channels_i, place.channels),
        ]);
        m.connect_each("context_data", io.data_o, context.data_o);
    }
}
