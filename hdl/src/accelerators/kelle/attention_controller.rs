//! Checks operations on heads, gives the DMAs of attention their commands, and waits for all of them.

use super::attention_spec::AttentionSpec;
use super::recompute_slots::RecomputeSlots;
use super::token_saver::HEAD_BYTES;
use super::walk::fit;
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::blocks::kelle::Intervals;
use crate::lang::{
    About, Block, Bundle, Field, FieldOption, Fsm, In, InOption, InStream, InStreams, Module, Out, OutBundle,
    OutOption, OutStream, OutStreams, Signal, bit, bits_for, bundle, cat, mux, parameters, ports, select, uint,
};

/// Read DMAs: queries, keys, values.
pub(super) const READERS: u32 = 3;
/// The reader of values.
const VALUES: u32 = 2;
const WORDS: u32 = 24;
/// Bit of the options: values come after the scores.
const LATE: u32 = 1;
/// Bit of the options: an inexact number is an error.
const EXACT: u32 = 12;
/// Most bits that an importance is shifted by.
const SHIFT: u32 = 47;

/// Operations.
pub(super) const ATTENTION: u32 = 2;
pub(super) const CLEAR: u32 = 4;
pub(super) const REFRESH: u32 = 5;
pub(super) const SAVE: u32 = 6;
pub(super) const RECOMPUTE: u32 = 8;

const STATES: [&str; 10] = ["Idle", "Fields", "Check", "Run", "Set", "Wipe", "Tell", "Seek", "Look", "Keep"];
/// Operations of a build without recomputation.
const FEWER: usize = 7;

parameters! {
    /// Elaboration parameters.
    pub struct AttentionController {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
    rules = |p, rules| {
        let least = bits_for(2 * u64::from(p.spec.group) * u64::from(p.spec.width));
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

bundle! {
    /// The fields of an operation of attention.
    pub struct AttentionWork(p: AttentionSpec) {
        /// The head.
        head: Field = p.head(),
        /// Tokens.
        tokens: Field = uint(16),
        /// Query heads.
        queries: Field = p.groups(),
        /// Slices of a vector.
        slices: Field = uint(bits_for(p.slices().into())),
        /// Values come after the scores.
        late: Field = bit(),
        /// Slots whose tokens come again before the others.
        again: FieldOption = uint(bits_for(p.recompute.into())).when(p.recompute > 0),
        /// Tokens that the head has after a step, at most.
        budget: Field = uint(16),
        /// First tokens that stay.
        sink: Field = uint(16),
        /// Recent tokens that stay.
        window: Field = uint(16),
        /// Bits that a product loses before it counts as importance.
        shift: Field = uint(6),
        /// Quantizers of queries, keys, values, the first one lowest: fp32.
        quantizers: Field = uint(96),
        /// A score is a product times this, fp32.
        score_scale: Field = uint(32),
        /// A result is a sum of values times this, fp32.
        result_scale: Field = uint(32),
    }
}

ports! {
    /// Ports of [`AttentionController`].
    pub struct AttentionControllerPorts(p: &AttentionController) {
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
        /// For one cycle: an operation of attention that is right begins.
        begin_o: Out = bit(),
        /// Its fields; valid from begin_o up to the end.
        work: OutBundle<AttentionWork> = p.spec.clone(),
        /// All of its tokens are done.
        tokens_done_i: In = bit(),
        /// For one cycle: the scores of a token begin. Values that are late are asked for from the first ones on.
        scores_i: In = bit(),
        /// Tokens that the head of `work` has.
        count_i: In = p.spec.count(),
        /// For one cycle: tokens are to be written to memory; `work` has head and slices.
        save_o: Out = bit(),
        /// Position of the first of them; steady from save_o up to the end.
        save_first_o: Out = p.spec.position(),
        /// How many; likewise.
        save_tokens_o: Out = p.spec.count(),
        /// The row of the token at `save_first_o` is looked for, for one cycle.
        seek_o: OutOption = bit().when(p.spec.recompute > 0),
        /// The row is here: score and slot are to be looked at, for one cycle.
        look_o: OutOption = bit().when(p.spec.recompute > 0),
        /// In the cycle after look_o: the token of that row has a slot.
        kept_i: InOption = bit().when(p.spec.recompute > 0),
        /// Slots in which the head has a token.
        held_i: InOption = uint(p.spec.recompute).when(p.spec.recompute > 0),
        /// In that cycle: it gets one, and its key and value go.
        keep_o: OutOption = bit().when(p.spec.recompute > 0),
        /// The slot, with keep_o.
        slot_o: OutOption = p.spec.slot().when(p.spec.recompute > 0),
        /// A number was saturated, is infinite or no number.
        inexact_i: In = bit(),
        /// The operation failed: none of its parts is to go on.
        failed_o: Out = bit(),
        /// Heads are to be emptied, for one cycle.
        wipe_o: Out = bit(),
        /// The first head to empty.
        wipe_head_o: Out = p.spec.head(),
        /// How many heads.
        wipe_heads_o: Out = uint(bits_for(p.spec.heads.into())),
        /// Heads are being emptied.
        wiping_i: In = bit(),
        /// New refresh intervals, for one cycle.
        config_o: Out = bit(),
        /// The intervals.
        config: OutBundle<Intervals> = p.spec.interval_width,
        /// With config_o: the lowest high score.
        threshold_o: Out = uint(p.spec.score_width),
        /// What to read: queries, keys, values.
        read_command: OutStreams<DmaCommand> = (READERS, (p.spec.spec.axi.clone(), p.dma.clone())),
        /// Ends of the reads.
        read_end: InStreams<DmaCompletion> = (READERS, p.spec.spec.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = (p.spec.spec.axi.clone(), p.dma.clone()),
        /// End of the write.
        write_end: InStream<DmaCompletion> = p.spec.spec.axi.clone(),
    }
}

impl Block for AttentionController {
    type Ports = AttentionControllerPorts;
    const ABOUT: About = About {
        name: "attention_controller",
        summary: "checks an operation on heads and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_SIZE (9) for a size,\n\
            ERROR_FIELD (15) for an operation that does not exist. Then queries, keys, values, results, as\n\
            operand_check says. Last the head's tokens. ERROR_FIELD (15) refuses a token with a slot that does not\n\
            come again, a second slot for a token, and a slot that is not free. Nothing is read, written or changed\n\
            unless all is right. The first error of a DMA ends attention and empties its head, as an abort does.\n\
            With bit 12 of the options a number that is not exact is ERROR_OVERFLOW (14).",
        reference: "Kelle, sections 4.1 and 4.2",
    };

    fn build(&self, m: &mut Module, io: &AttentionControllerPorts) {
        let states = if self.spec.recompute > 0 { &STATES[..] } else { &STATES[..FEWER] };
        let state = m.fsm("state", states);
        // Heads may still be emptied: operations on heads wait for that, others do not.
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.wiping_i & !io.abort_i);
        m.unused(io.operation.independent);
        let code = |number: u32| uint(8).lit(number);
        let word = |k: u32| io.operation.words.at(k);
        let opcode = |number: u32| io.operation.opcode.eq(number);
        let attends = m.wire("attends", opcode(ATTENTION));
        let clears = m.wire("clears", opcode(CLEAR));
        let sets = m.wire("sets", opcode(REFRESH));
        let saves = m.wire("saves", if self.spec.save { opcode(SAVE) } else { bit().lit(0) });
        let keeps = io.keep_o.map(|_| m.wire("keeps", opcode(RECOMPUTE)));
        let wrong = self.wrong(m, io, [attends, clears, sets, saves], keeps);
        self.work(m, io);

        m.comment("One operand after the other: queries, keys, values, results.");
        let list = m.instance("u_operands", OperandList::of(4, OperandCheck::of(&self.spec.spec.axi, &self.dma)));
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        let moves = m.wire("moves", attends | saves);
        m.connect(list.start_i, state.is("Fields") & moves & !wrong.any());
        m.connect(list.last_i, 3);
        m.connect(list.used_i, attends | list.index_o.eq(READERS));
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let width = self.dma.row_width;
        let vector = m.wire("vector_bytes", fit(word(3).slice(0..16).shl(1), width));
        let count = word(2).slice(0..io.work.queries.width());
        let query = m.wire("query_bytes", fit(word(3).slice(0..16).shl(1) * count, width));
        let saved = m.wire("saved_bytes", fit(word(3).slice(0..16).shl(2), width).wrapping_add(HEAD_BYTES));
        let results = m.wire("result_bytes", mux(saves, saved, query));
        let of = |m: &mut Module, name: &str, values: [Signal; 4]| m.lookup(name, list.index_o, &values);
        let rows = m.wire("operand_rows", mux(saves, word(2), word(1)).slice(0..16));
        let mut rows_of = [rows; 4];
        if let Some(again) = io.work.again {
            let more = m.wire("rows_that_come", rows.wrapping_add(again.extend(16)));
            rows_of = [rows, more, more, rows];
        }
        // The address of the results is in words 6 and 7 for save, in words 22 and 23 for attention.
        let result_address = m.wire("result_address", mux(saves, wide(6), wide(22)));
        let result_stride = m.wire("result_stride", mux(saves, word(4), word(15)));
        let places = [
            (wide(16), word(12), query),
            (wide(18), word(13), vector),
            (wide(20), word(14), vector),
            (result_address, result_stride, results),
        ];
        let operand = Operand {
            address: of(m, "operand_address", places.map(|place| place.0)),
            row_bytes: of(m, "operand_bytes", places.map(|place| place.2)),
            rows: if self.spec.recompute > 0 { of(m, "operand_rows_here", rows_of) } else { rows },
            stride: of(m, "operand_stride", places.map(|place| place.1)),
        };
        list.operand.drive(m, "operand", &operand);
        // The head's tokens are checked last.
        let missing = io.held_i.zip(io.work.again).map(|(held, again)| {
            let missing = (0..self.spec.recompute).fold(bit().lit(0), |any, k| any | (held.bit(k) & again.le(k)));
            m.wire("does_not_come", missing & attends & list.passed_o)
        });
        let begins = missing.map_or(list.passed_o, |missing| m.wire("begins", list.passed_o & !missing));
        m.connect(io.begin_o, begins & attends);
        m.connect(io.save_o, begins & saves);
        m.connect(io.save_first_o, word(1).slice(0..io.save_first_o.width()));
        m.connect(io.save_tokens_o, word(2).slice(0..io.save_tokens_o.width()));

        m.comment("All reads and writes are asked for; they must all end, and so must all tokens.");
        let block = CommandList { dmas: READERS + 1, times: 1, commands: self.dma.commands };
        let commands = m.instance("u_commands", block);
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, begins);
        let scored = m.reg_init("scored_q", bit(), 0);
        scored.next((scored.q | io.scores_i) & !begins);
        let may = m.wire("values_may_come", scored.q | !word(4).bit(LATE));
        for (k, (address, stride, row_bytes)) in (0u32..).zip(places) {
            let (command, end) = if k < READERS {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            m.connect(commands.times_i.at(k), if k < READERS { attends } else { bit().lit(1) });
            m.connect(commands.taken_i.at(k), command.fire());
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            let asks = commands.asks_o.at(k);
            m.connect(command.valid, if k == VALUES { asks & may } else { asks });
            m.connect(command.address, address.slice(0..self.spec.spec.axi.address_width));
            m.connect(command.row_bytes, row_bytes);
            m.connect(command.rows, rows_of[k as usize]);
            m.connect(command.stride, stride);
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        let runs = m.wire("runs", state.is("Run"));
        let inexact = m.reg_init("inexact_q", bit(), 0);
        inexact.next((inexact.q | io.inexact_i) & !state.is("Fields"));
        let refused = m.wire("refused", inexact.q & word(4).bit(EXACT));
        let fails = m.wire("fails", runs & (commands.error_o.any() | refused));
        let done = m.wire("done", commands.done_o & io.tokens_done_i);
        m.connect(io.failed_o, fails);
        let not_there = code(job_error::FIELD);
        let refusal = missing.map_or(list.error_o, |missing| mux(missing, not_there, list.error_o));
        let mut ends = vec![
            (state.is("Fields"), wrong),
            (state.is("Check"), refusal),
            // The first one: others may come while the head is emptied.
            (runs & commands.error_o.any(), commands.error_o),
            (runs, select(&[(refused, code(job_error::OVERFLOW))], code(0))),
        ];
        let taken = self.keep(m, io, &state);
        ends.extend(taken.map(|taken| (state.is("Keep") & taken, not_there)));
        let end = m.reg("end_q", uint(8));
        end.next(select(&ends, end.q));
        m.connect(io.operation_end.valid, state.is("Tell"));
        m.connect(io.operation_end.error, end.q);

        m.comment("Heads that are emptied: the heads asked for, or the head of an operation that fails or is dropped.");
        let empties = m.wire("empties", state.is("Fields") & clears & !wrong.any());
        let loses = m.wire("loses", (fails | (runs & io.abort_i)) & attends);
        m.connect(io.wipe_o, (empties & !io.abort_i) | loses);
        m.connect(io.wipe_head_o, word(0).slice(0..io.wipe_head_o.width()));
        let heads = io.wipe_heads_o.ty();
        m.connect(io.wipe_heads_o, select(&[(runs, heads.lit(1))], word(1).slice(0..heads.width)));
        m.connect(io.config_o, state.is("Set") & !io.abort_i);
        for (to, k) in
            [(io.config.high_msb, 1), (io.config.high_lsb, 2), (io.config.low_msb, 3), (io.config.low_lsb, 4)]
        {
            m.connect(to, word(k).slice(0..to.width()));
        }
        m.connect(io.threshold_o, word(0).slice(0..io.threshold_o.width()));

        for &from in states {
            state.goto(from, io.abort_i, "Idle");
        }
        state.goto("Idle", io.operation.valid & !io.wiping_i, "Fields");
        state.goto("Fields", wrong.any(), "Tell");
        if let (Some(keeps), Some(missing)) = (keeps, missing) {
            state.goto("Fields", keeps, "Seek");
            state.goto("Check", missing, "Tell");
            for (from, to) in [("Seek", "Look"), ("Look", "Keep"), ("Keep", "Tell")] {
                state.goto(from, bit().lit(1), to);
            }
        }
        state.goto("Fields", moves, "Check");
        state.goto("Fields", clears, "Wipe");
        state.goto("Fields", bit().lit(1), "Set");
        state.goto("Check", list.error_o.any(), "Tell");
        state.goto("Check", begins, "Run");
        state.goto("Run", fails & attends, "Wipe");
        state.goto("Run", fails, "Tell");
        state.goto("Run", done, "Tell");
        state.goto("Set", bit().lit(1), "Tell");
        state.goto("Wipe", !io.wiping_i, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

impl AttentionController {
    /// A token gets a slot; whether it must not.
    fn keep(&self, m: &mut Module, io: &AttentionControllerPorts, state: &Fsm) -> Option<Signal> {
        let (seek, look, keep) = (io.seek_o?, io.look_o?, io.keep_o?);
        let (kept, held, slot) = (io.kept_i?, io.held_i?, io.slot_o?);
        m.comment("A token gets a slot: its row is looked for, then its slot, if it has one.");
        m.connect(seek, state.is("Seek"));
        m.connect(look, state.is("Look"));
        m.connect(slot, io.operation.words.at(2).slice(0..slot.width()));
        let in_use = RecomputeSlots { spec: self.spec.clone() }.holds(held, slot);
        let taken = m.wire("slot_is_taken", kept | in_use);
        m.connect(keep, state.is("Keep") & !taken & !io.abort_i);
        Some(taken)
    }

    /// Why the fields are wrong, or 0.
    fn wrong(
        &self,
        m: &mut Module,
        io: &AttentionControllerPorts,
        kinds: [Signal; 4],
        keeps: Option<Signal>,
    ) -> Signal {
        let [attends, clears, sets, saves] = kinds;
        let spec = &self.spec;
        let code = |number: u32| uint(8).lit(number);
        let word = |k: u32| io.operation.words.at(k);
        let any = |from: u32| cat(&(from..WORDS).map(word).collect::<Vec<Signal>>()).any();
        let unknown = [word(4).slice(EXACT + 1..32), word(4).slice(LATE + 1..EXACT), word(4).slice(0..LATE)];
        let again = word(6).slice(24..32);
        let options = cat(&unknown).any();
        // A late value does not come again.
        let odd = if self.spec.recompute > 0 { again.any() & word(4).bit(LATE) } else { again.any() };
        let behind = word(5).any() | any(8);
        let mut reserved = vec![(attends, options | odd), (clears, any(2)), (sets, any(5)), (saves, behind)];
        reserved.extend(keeps.map(|keeps| (keeps, any(3))));
        let reserved = m.wire("reserved", select(&reserved, bit().lit(0)));

        let (elements, columns) = (word(3), spec.spec.columns);
        let whole = !elements.slice(0..columns.trailing_zeros()).any();
        let [budget, sink, window] = [word(5).slice(0..16), word(5).slice(16..32), word(6).slice(0..16)];
        let kept = m.wire("kept", sink + window);
        let no_head = m.wire("no_head", word(0).ge(spec.heads));
        let wrong_elements = m.wire("wrong_elements", !elements.any() | elements.gt(spec.width) | !whole);
        let sizes = [
            no_head,
            !word(1).any() | word(1).slice(16..32).any(),
            !word(2).any() | word(2).gt(spec.group),
            wrong_elements,
            !budget.any() | budget.gt(spec.slots) | kept.ge(budget.extend(17)),
            word(6).slice(16..24).gt(SHIFT),
        ];
        let mut attention = sizes.into_iter().fold(bit().lit(0), |a, b| a | b);
        if self.spec.recompute > 0 {
            let rows = m.wire("all_rows", word(1).slice(0..16).extend(17).wrapping_add(again.extend(17)));
            attention = attention | again.gt(self.spec.recompute) | rows.bit(16);
        }
        let behind = m.wire("heads_end", word(0) + word(1));
        let heads = !word(1).any() | behind.gt(spec.heads);
        let (least, most) = (2 * spec.rows(), (1u64 << spec.interval_width) - 1);
        let interval = |k: u32| word(k).lt(least) | word(k).gt(most);
        let top = (1u64 << spec.score_width) - 1;
        let too_high = if spec.score_width < 32 { word(0).gt(top) } else { bit().lit(0) };
        let refresh = (1..5).map(interval).fold(too_high, |a, b| a | b);
        let saved_end = m.wire("saved_end", word(1) + word(2));
        let save = no_head | !word(2).any() | saved_end.gt(io.count_i.extend(33)) | wrong_elements;
        let mut sizes = vec![(attends, attention), (clears, heads), (sets, refresh), (saves, save)];
        sizes.extend(keeps.map(|keeps| {
            let nobody = word(1).ge(io.count_i.extend(32));
            (keeps, no_head | nobody | word(2).ge(self.spec.recompute))
        }));
        let wrong_size = m.wire("wrong_size", select(&sizes, bit().lit(0)));
        let known = attends | clears | sets | saves;
        let missing = m.wire("missing", !keeps.map_or(known, |keeps| known | keeps));
        let wrongs = [
            (missing, code(job_error::FIELD)),
            (reserved, code(job_error::RESERVED)),
            (wrong_size, code(job_error::SIZE)),
        ];
        m.wire("wrong_field", select(&wrongs, code(0)))
    }

    fn work(&self, m: &mut Module, io: &AttentionControllerPorts) {
        let word = |k: u32| io.operation.words.at(k);
        let work = &io.work;
        let slices = word(3).slice(0..16).shr(self.spec.spec.columns.trailing_zeros());
        for (to, from) in [
            (work.head, word(0).slice(0..work.head.width())),
            (work.tokens, word(1).slice(0..16)),
            (work.queries, word(2).slice(0..work.queries.width())),
            (work.slices, fit(slices, work.slices.width())),
            (work.late, word(4).bit(LATE)),
            (work.budget, word(5).slice(0..16)),
            (work.sink, word(5).slice(16..32)),
            (work.window, word(6).slice(0..16)),
            (work.shift, word(6).slice(16..22)),
            (work.quantizers, cat(&[word(9), word(8), word(7)])),
            (work.score_scale, word(10)),
            (work.result_scale, word(11)),
        ] {
            m.connect(to, from);
        }
        if let Some(again) = work.again {
            m.connect(again, word(6).slice(24..24 + again.width()));
        }
    }
}
