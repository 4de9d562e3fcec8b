//! Does one append or one restore: checks its fields and operands, gives the DMAs their commands, and waits for all of
//! them.

use super::linear_controller::WORDS;
use super::titanus_spec::{BLOCK_BYTES, COUNT, CacheWork, TitanusSpec};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{
    CommandList, CommandListPorts, Operand, OperandCheck, OperandList, OperandListPorts, Operation, OperationEnd,
};
use crate::blocks::titanus::cache_writer::{BLOCKS, TOKENS};
use crate::blocks::titanus::{CacheRead, CacheReadEnd, CacheStart};
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutBundle, OutStream, OutStreams, Signal, bit,
    bits_for, cat, mux, parameters, ports, select, uint,
};

/// Operation that restores; the other one appends.
const RESTORE: u32 = 5;

/// Read DMAs: keys or an area, values.
pub(super) const READERS: u32 = 2;

/// Keys, values, area of keys, area of values.
const OPERANDS: u32 = 4;

const STATES: [&str; 8] = ["Idle", "Fields", "Check", "Append", "Ask", "Restore", "Finish", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct CacheController {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
    rules = |p, rules| {
        let least = bits_for(p.spec.most_bytes());
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

ports! {
    /// Ports of [`CacheController`].
    pub struct CacheControllerPorts(p: &CacheController) {
        /// Drops the operation.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// For one cycle: an operation that is right begins.
        begin_o: Out = bit(),
        /// The work; valid from begin_o up to the end.
        work: OutBundle<CacheWork> = (),
        /// Area of keys; as work.
        area_k_o: Out = uint(64),
        /// Area of values; as work.
        area_v_o: Out = uint(64),
        /// Begins a sequence.
        start: OutStream<CacheStart> = (),
        /// Tokens of the open sequence, 0 without one.
        open_tokens_i: In = uint(TOKENS),
        /// Its prefill lacks tokens: there is no stream yet.
        filling_i: In = bit(),
        /// Tokens of the context.
        context_tokens_i: In = uint(TOKENS),
        /// Whole blocks of its keys.
        blocks_k_i: In = uint(BLOCKS),
        /// Whole blocks of its values.
        blocks_v_i: In = uint(BLOCKS),
        /// All tokens of an append are in, all blocks have left, and nothing is on its way to a DMA. Tokens may wait
        /// for the end of the prefill.
        settled_i: In = bit(),
        /// An area was full: of keys, of values.
        full_i: In = uint(2),
        /// An element of the sequence was out of tolerance when its channel had no level left.
        overflow_i: In = bit(),
        /// Asks for a side; values_o says which.
        read: OutStream<CacheRead> = (),
        /// How the read ended.
        read_done: InStream<CacheReadEnd> = (),
        /// The side that is restored: values, not keys.
        values_o: Out = bit(),
        /// For one cycle: the operation has ended well.
        good_o: Out = bit(),
        /// Not 0 for one cycle: 2 a damaged stream, 3 an area that is full.
        damage_o: Out = uint(8),
        /// With damage_o: of values.
        damage_values_o: Out = bit(),
        /// What to read: keys or an area; values.
        read_command: OutStreams<DmaCommand> = (READERS, (p.axi.clone(), p.dma.clone())),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.axi.clone()),
        /// Blocks that are written.
        block_command: InStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// Where to write: rows, or blocks.
        write_command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// How writing ended.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

/// An operation's fields.
struct Fields {
    restore: Signal,
    options: Signal,
    position: Signal,
    prefill: Signal,
    lines: Signal,
    /// Restored tokens go to memory.
    rows: Signal,
    begins: Signal,
    area_k: Signal,
    area_v: Signal,
}

impl Fields {
    fn new(m: &mut Module, io: &CacheControllerPorts) -> Self {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let restore = m.wire("restore", io.operation.opcode.eq(RESTORE));
        let position = word(2);
        Self {
            restore,
            options: word(3),
            position,
            prefill: word(4).slice(0..16),
            lines: word(4).slice(16..32),
            rows: m.wire("rows", restore & word(3).bit(0)),
            begins: m.wire("begins_anew", !restore & !position.any()),
            area_k: wide(12),
            area_v: wide(14),
        }
    }
}

impl CacheController {
    fn operands(&self) -> OperandList {
        OperandList::of(OPERANDS, OperandCheck::of(&self.axi, &self.dma))
    }

    fn command_list(&self) -> CommandList {
        CommandList { dmas: READERS + 1, times: 1, commands: self.dma.commands }
    }
}

impl Block for CacheController {
    type Ports = CacheControllerPorts;
    const ABOUT: About = About {
        name: "cache_controller",
        summary: "checks an append or a restore of the Titanus core and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_FIELD (15) for a width that\n\
            does not exist. ERROR_SIZE (9) refuses a size, and another number of tokens than the open sequence has.\n\
            Then rows and areas, as operand_check says. Nothing is read, written or changed unless all is right. An\n\
            append ends when all its blocks have been written, or when its tokens wait for others of their prefill.\n\
            A restore ends when keys, then values, came to their end. A damaged stream and an area that is full are\n\
            ERROR_FIELD (15). With bit 12 of the options, an element beyond all levels is ERROR_OVERFLOW (14).",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &CacheControllerPorts) {
        let state = m.fsm("state", &STATES);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.independent);
        let fields = Fields::new(m, io);
        let code = |number: u32| uint(8).lit(number);
        let wrongs = [
            (self.reserved(m, io, &fields), code(job_error::RESERVED)),
            (self.wrong_width(m, io, &fields), code(job_error::FIELD)),
            (self.wrong_size(m, io, &fields), code(job_error::SIZE)),
        ];
        let wrong = m.wire("wrong_field", select(&wrongs, code(0)));
        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, OPERANDS - 1);
        self.operand(m, io, &fields, &list);
        let begins = m.wire("begins", list.passed_o);
        m.connect(io.begin_o, begins);
        self.work(m, io, &fields);

        m.comment("A new sequence.");
        let starting = m.reg_init("starting_q", bit(), 0);
        starting.next(((begins & fields.begins) | (starting.q & !io.start.ready)) & !io.abort_i);
        m.connect(io.start.valid, starting.q & !io.abort_i);

        m.comment("Keys are restored, then values.");
        let side_over = m.net("side_over", bit());
        let values = m.reg("values_q", bit());
        values.next_when(begins | side_over, !begins);
        m.connect(io.values_o, values.q);
        let blocks = m.wire("blocks", mux(values.q, io.blocks_v_i, io.blocks_k_i));
        let asks = m.wire("asks", state.is("Ask") & !io.abort_i);
        m.connect(io.read.valid, asks);
        m.connect(io.read.blocks, blocks);
        m.connect(io.read.tokens, io.work.tokens);
        let asked = m.wire("asked", io.read.fire());
        m.connect(io.read_done.ready, state.is("Restore"));
        let ended = m.wire("read_ended", io.read_done.fire());

        let commands = self.commands(m, io, &fields, (begins & !fields.restore, asked, blocks));
        let (done, failed) = (commands.done_o, m.wire("failed", commands.error_o.any()));
        let appended = m.wire("appended", state.is("Append") & !starting.q & io.settled_i & done);
        let full = m.wire("full", appended & io.full_i.any());
        let damaged = m.wire("damaged", ended & io.read_done.damaged);
        m.connect(io.damage_o, select(&[(damaged, code(2)), (full, code(3))], code(0)));
        m.connect(io.damage_values_o, mux(damaged, values.q, !io.full_i.bit(0)));
        let overflow = m.wire("overflow", io.overflow_i & fields.options.bit(12));
        m.connect(side_over, state.is("Finish") & done);
        let last_side = m.wire("last_side", side_over & values.q);
        let end = m.reg("end_q", uint(8));
        let ends = [
            (state.is("Fields"), wrong),
            (state.is("Check"), list.error_o),
            (failed, commands.error_o),
            (full | damaged, code(job_error::FIELD)),
            (appended, mux(overflow, code(job_error::OVERFLOW), code(0))),
            (last_side, code(0)),
        ];
        end.next(select(&ends, end.q));
        m.connect(io.operation_end.valid, state.is("Tell"));
        m.connect(io.operation_end.error, end.q);
        m.connect(io.good_o, ((appended & !full & !overflow) | last_side) & !failed);

        for from in STATES {
            state.goto(from, io.abort_i, "Idle");
        }
        state.goto("Idle", io.operation.valid, "Fields");
        state.goto("Fields", wrong.any(), "Tell");
        state.goto("Fields", true, "Check");
        state.goto("Check", list.error_o.any(), "Tell");
        state.goto("Check", begins & fields.restore, "Ask");
        state.goto("Check", begins, "Append");
        for from in ["Append", "Ask", "Restore", "Finish"] {
            state.goto(from, failed, "Tell");
        }
        state.goto("Append", appended, "Tell");
        state.goto("Ask", asked, "Restore");
        state.goto("Restore", damaged, "Tell");
        state.goto("Restore", ended, "Finish");
        state.goto("Finish", last_side, "Tell");
        state.goto("Finish", done, "Ask");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

impl CacheController {
    fn reserved(&self, m: &mut Module, io: &CacheControllerPorts, fields: &Fields) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let rest: Vec<Signal> = (16..WORDS).map(word).collect();
        let rest = m.wire("strange_rest", cat(&rest).any());
        let options = m.wire("strange_options", fields.options.slice(1..12).any() | fields.options.slice(13..32).any());
        let goes_on = !fields.begins & (fields.prefill.any() | word(5).any());
        let unused = [word(2), word(3).slice(12..13), word(4).slice(0..16), word(5)];
        let without = m.wire("strange_without", cat(&(6..12).map(word).collect::<Vec<_>>()).any());
        let restores = m.wire("strange_restore", cat(&unused).any() | (!fields.rows & without));
        m.wire("reserved", rest | options | mux(fields.restore, restores, goes_on))
    }

    fn wrong_width(&self, m: &mut Module, io: &CacheControllerPorts, fields: &Fields) -> Signal {
        let widths = io.operation.words.at(5);
        let none = |width: Signal| width.lt(2) | width.gt(8);
        m.wire("wrong_width", fields.begins & (none(widths.slice(16..24)) | none(widths.slice(24..32))))
    }

    fn wrong_size(&self, m: &mut Module, io: &CacheControllerPorts, fields: &Fields) -> Signal {
        let (tokens, channels) = (io.operation.words.at(0), io.operation.words.at(1));
        let many = |count: Signal| !count.any() | count.slice(16..32).any();
        let spec = &self.spec;
        let both = m.wire("tokens_then", tokens + fields.position);
        let here = io.open_tokens_i.extend(32);
        let lines = fields.lines.extend(BLOCKS);
        let in_context = m.wire("beyond_context", tokens.gt(spec.context));
        let common = many(tokens) | !channels.any() | channels.gt(spec.channels()) | !fields.lines.any();
        let place = fields.position.any() & fields.position.ne(here);
        let prefill = fields.prefill.extend(32);
        // Kept tokens go on where the context ends.
        let apart = fields.position.any() & fields.position.ne(io.context_tokens_i.extend(32));
        let keep = m.wire("wrong_keep", fields.options.bit(0) & (apart | both.gt(spec.context)));
        let append = place | both.slice(16..33).any() | prefill.gt(spec.buffer) | keep;
        let short = io.blocks_k_i.gt(lines) | io.blocks_v_i.gt(lines);
        let restore = tokens.ne(here) | io.filling_i | short | (!fields.rows & in_context);
        m.wire("wrong_size", common | mux(fields.restore, restore, append))
    }

    /// Rows, then areas; of a restore areas, then rows.
    fn operand(&self, m: &mut Module, io: &CacheControllerPorts, fields: &Fields, list: &OperandListPorts) {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let areas = m.wire("areas", list.index_o.bit(1).ne(fields.restore));
        let values = list.index_o.bit(0);
        m.connect(list.used_i, areas | !fields.restore | fields.rows);
        let either = |area: Signal, k: Signal, v: Signal| mux(areas, area, mux(values, v, k));
        let operand = Operand {
            address: m.wire("operand_address", either(mux(values, fields.area_v, fields.area_k), wide(8), wide(10))),
            row_bytes: mux(areas, uint(self.dma.row_width).lit(BLOCK_BYTES), self.row_bytes(io)),
            rows: mux(areas, fields.lines, word(0).slice(0..16)),
            stride: m.wire("operand_stride", either(uint(32).lit(BLOCK_BYTES), word(6), word(7))),
        };
        list.operand.drive(m, "operand", &operand);
    }

    fn row_bytes(&self, io: &CacheControllerPorts) -> Signal {
        io.operation.words.at(1).slice(0..COUNT).extend(64).slice(0..self.dma.row_width)
    }

    fn work(&self, m: &mut Module, io: &CacheControllerPorts, fields: &Fields) {
        let word = |k: u32| io.operation.words.at(k);
        let (work, start) = (&io.work, &io.start);
        for (to, from) in [
            (work.restore, fields.restore),
            (work.begins, fields.begins),
            (work.keep, mux(fields.restore, !fields.rows, fields.options.bit(0))),
            (work.tokens, word(0).slice(0..TOKENS)),
            (work.channels, word(1).slice(0..COUNT)),
            (work.lines, fields.lines.extend(BLOCKS)),
            (io.area_k_o, fields.area_k),
            (io.area_v_o, fields.area_v),
            (start.prefill, fields.prefill),
            (start.threshold_k, word(5).slice(0..8)),
            (start.threshold_v, word(5).slice(8..16)),
            (start.bits_k, word(5).slice(16..20)),
            (start.bits_v, word(5).slice(24..28)),
        ] {
            m.connect(to, from);
        }
    }

    /// Rows of both sides, or an area and rows of one.
    fn commands(
        &self,
        m: &mut Module,
        io: &CacheControllerPorts,
        fields: &Fields,
        (appends, asked, blocks): (Signal, Signal, Signal),
    ) -> CommandListPorts {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let address = |wide: Signal| wide.slice(0..self.axi.address_width);
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, appends | asked);
        let times = [mux(appends, bit().lit(1), blocks.any()), appends, asked & fields.rows];
        let write = &io.write_command;
        let rows_due = commands.asks_o.at(2);
        let ends = [io.read_end.at(0), io.read_end.at(1), io.write_end.clone()];
        let taken = [io.read_command.at(0).fire(), io.read_command.at(1).fire(), write.fire()];
        for (k, ((times, end), taken)) in times.into_iter().zip(&ends).zip(taken).enumerate() {
            let k = k as u32;
            m.connect(commands.times_i.at(k), times);
            m.connect(commands.taken_i.at(k), taken);
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        let values = io.values_o;
        let area = mux(values, fields.area_v, fields.area_k);
        let row_bytes = self.row_bytes(io);
        let rows = word(0).slice(0..16);
        let line = uint(self.dma.row_width).lit(BLOCK_BYTES);
        let first = io.read_command.at(0);
        m.connect(first.valid, commands.asks_o.at(0));
        m.connect(first.address, address(mux(fields.restore, area, wide(8))));
        m.connect(first.row_bytes, mux(fields.restore, line, row_bytes));
        m.connect(first.rows, mux(fields.restore, blocks.slice(0..16), rows));
        m.connect(first.stride, mux(fields.restore, uint(32).lit(BLOCK_BYTES), word(6)));
        let second = io.read_command.at(1);
        m.connect(second.valid, commands.asks_o.at(1));
        m.connect(second.address, address(wide(10)));
        m.connect(second.row_bytes, row_bytes);
        m.connect(second.rows, rows);
        m.connect(second.stride, word(7));
        let block = &io.block_command;
        m.connect(write.valid, mux(fields.restore, rows_due, block.valid));
        m.connect(block.ready, write.ready & !fields.restore);
        m.connect(write.address, mux(fields.restore, address(mux(values, wide(10), wide(8))), block.address));
        m.connect(write.row_bytes, mux(fields.restore, row_bytes, block.row_bytes));
        m.connect(write.rows, mux(fields.restore, rows, block.rows));
        m.connect(write.stride, mux(fields.restore, mux(values, word(7), word(6)), block.stride));
        commands
    }
}
