//! Does one operation of any accelerator: refuses what is wrong, gives the DMAs their commands, and waits for all ends.
//!
//! The accelerator supplies what is its own: why fields are wrong, the places of operands and commands, how many
//! commands each DMA gets, and when its parts are done.

use super::job_controller::OperationEnd;
use super::job_error;
use super::operand_check::{Operand, OperandCheck};
use super::{CommandList, OperandList, OperandListPorts};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec};
use crate::lang::operation::Decoder;
use crate::lang::{
    About, Block, Bundle, In, InArray, InOption, InStreams, Module, Out, OutArray, OutStream, OutStreams, Signal, bit,
    bits_for, connect_all, mux, parameters, ports, select, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct OperationController {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Operands that are checked.
        operands: u32 = 2, in 1..=16, tag "o";
        /// DMAs that read.
        readers: u32 = 1, in 1..=63, tag "r";
        /// Most commands to a DMA for one operation.
        times: u32 = 1, in 1..=65535, tag "t";
        /// A cycle lies between the last check and begin_o: places of commands are computed in it.
        prepares: bool = false, tag "prepares";
        /// It waits for other operations after its checks.
        waits: bool = false, tag "waits";
        /// With waits: a bit for each DMA that reads, of the first 16. Those wait for all operations that this one depends
        /// on, and it begins before. With 0 its begin waits for them.
        late: u32 = 0, in 0..=0xffff, note "a bit for each of the readers", tag "l", named "when set";
    }
    rules = |p, rules| {
        let known = u64::from(p.late) >> p.readers.min(63) == 0;
        rules.demand(known, "late", p.late, format!("bits of the first {} DMAs", p.readers));
        rules.demand(p.waits || p.late == 0, "late", p.late, "0 without waits");
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

impl OperationController {
    /// The controller of an engine that reads with so many DMAs: an operand for each, and the results.
    #[must_use]
    pub fn of(axi: &AxiSpec, dma: &DmaSpec, readers: u32) -> Self {
        Self { axi: axi.clone(), dma: dma.clone(), operands: readers + 1, readers, ..Self::default() }
    }

    fn dmas(&self) -> u32 {
        self.readers + 1
    }

    fn list(&self) -> OperandList {
        OperandList::of(self.operands, OperandCheck::of(&self.axi, &self.dma))
    }

    fn command_list(&self) -> CommandList {
        CommandList { dmas: self.dmas(), times: self.times, commands: self.dma.commands }
    }

    /// Cycles from the first one with an operation to the cycle before it begins, where all operands are used.
    #[must_use]
    pub fn checks(&self) -> u32 {
        1 + self.operands * (OperandCheck::of(&self.axi, &self.dma).cycles() + 1)
    }
}

ports! {
    /// Ports of [`OperationController`].
    pub struct OperationControllerPorts(p: &OperationController) {
        /// Drops the operation.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// An operation comes; what depends on its fields stays up to its end.
        valid_i: In = bit(),
        /// It is taken at the coming edge, when it is valid.
        ready_o: Out = bit(),
        /// How it ended.
        operation_end: OutStream<OperationEnd> = None,
        /// Why its fields are wrong: a number of `job_error`, or 0. Read in the cycle after it was taken.
        wrong_i: In = uint(8),
        /// Operands are to be checked; otherwise it begins at once. Read as wrong_i.
        checks_i: In = bit(),
        /// Operands, in the order of the checks: they are used.
        used_i: InArray = bit().array(p.operands),
        /// Address of the first row.
        operand_address_i: InArray = uint(64).array(p.operands),
        /// Bytes of a row.
        operand_row_bytes_i: InArray = uint(p.dma.row_width).array(p.operands),
        /// Rows.
        operand_rows_i: InArray = uint(16).array(p.operands),
        /// Bytes from row to row.
        operand_stride_i: InArray = uint(32).array(p.operands),
        /// Read when all operands are right: the operation is wrong all the same, by a number of `job_error`, or 0.
        refuse_i: In = uint(8),
        /// The operation in hand is right; high in a cycle before it runs at least.
        right_o: Out = bit(),
        /// All operations have ended that this one depends on.
        released_i: InOption = bit().when(p.waits),
        /// All operations have ended that may write what this one reads early.
        early_i: InOption = bit().when(p.late > 0),
        /// For one cycle: an operation that is right begins.
        begin_o: Out = bit(),
        /// The DMAs are to get commands once more, with times_i of this cycle.
        again_i: In = bit(),
        /// Commands for each DMA, the one that writes last; read with begin_o and again_i.
        times_i: InArray = uint(bits_for(p.times.into())).array(p.dmas()),
        /// The next command for each DMA: address of the first row.
        address_i: InArray = uint(p.axi.address_width).array(p.dmas()),
        /// Bytes of a row.
        row_bytes_i: InArray = uint(p.dma.row_width).array(p.dmas()),
        /// Rows.
        rows_i: InArray = uint(16).array(p.dmas()),
        /// Bytes from row to row.
        stride_i: InArray = uint(32).array(p.dmas()),
        /// A command from elsewhere is taken by this DMA; its end counts here.
        other_taken_i: InArray = bit().array(p.dmas()),
        /// The DMA takes a command at the coming edge.
        taken_o: OutArray = bit().array(p.dmas()),
        /// An operation that is right is in hand.
        runs_o: Out = bit(),
        /// All commands have ended; valid while it runs.
        commands_done_o: Out = bit(),
        /// A result is not exact.
        overflow_i: In = bit(),
        /// A result of this operation was not exact.
        overflowed_o: Out = bit(),
        /// Ends it at once: a number of `job_error`, or 0.
        fail_i: In = uint(8),
        /// Its own parts are done; it ends when all commands have ended too.
        done_i: In = bit(),
        /// How it ends then: a number of `job_error`, or 0.
        result_i: In = uint(8),
        /// For one cycle: it ends before all is done.
        failed_o: Out = bit(),
        /// Read with failed_o: its end waits for settled_i.
        settles_i: In = bit(),
        /// What a failed operation leaves is cleared up.
        settled_i: In = bit(),
        /// What to read.
        read_command: OutStreams<DmaCommand> = (p.readers, (p.axi.clone(), p.dma.clone())),
        /// Ends of the reads.
        read_end: InStreams<DmaCompletion> = (p.readers, p.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, (p.axi.clone(), p.dma.clone())),
        /// Ends of the writes.
        write_end: InStreams<DmaCompletion> = (1, p.axi.clone()),
    }
}

impl Block for OperationController {
    type Ports = OperationControllerPorts;
    const ABOUT: About = About {
        name: "operation_controller",
        summary: "checks an operation of an accelerator and has it done",
        contract: "Fields first: wrong_i ends it. Then each operand that is used, as operand_check says, one after\n\
            the other; the first error ends it. Then refuse_i. Nothing is read, written or begun unless all is right.\n\
            Then, with waits, it waits for released_i, or for early_i and only its late DMAs for released_i.\n\
            Then each DMA gets its commands. The operation ends with the first error of a DMA, with fail_i, or with\n\
            result_i when all commands have ended and done_i is high. If several come at once, the first of these\n\
            counts. An abort drops it, and there is no end.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &OperationControllerPorts) {
        // It begins in a state of its own where it waits, or where places of commands are computed.
        let apart = self.prepares || self.waits;
        let states: &[&str] = match apart {
            true => &["Idle", "Fields", "Check", "Begin", "Run", "Tell", "Settle"],
            false => &["Idle", "Fields", "Check", "Run", "Tell", "Settle"],
        };
        let state = m.fsm("state", states);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.ready_o, state.is("Idle") & !io.abort_i);
        let fields = m.wire("fields", state.is("Fields"));
        let right = m.wire("fields_are_right", fields & !io.wrong_i.any());

        m.comment("One operand after the other.");
        let list = self.operands(m, io, right);
        let checked = m.wire("checked", list.passed_o | (right & !io.checks_i));
        let refused = m.wire("refused", checked & io.refuse_i.any());
        let right = if apart { state.is("Begin") } else { checked & !refused };
        let right = m.wire("right", right);
        m.connect(io.right_o, right);
        let may = io.early_i.or(io.released_i);
        let begins = may.map_or(right, |may| m.wire("begins", right & may));
        m.connect(io.begin_o, begins);

        m.comment("Commands that are to be given, and commands that have not ended.");
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, begins | io.again_i);
        let ends = (0..self.readers).map(|k| io.read_end.at(k)).chain([io.write_end.at(0)]);
        let asked = (0..self.readers).map(|k| io.read_command.at(k)).chain([io.write_command.at(0)]);
        for ((k, command), end) in (0..).zip(asked).zip(ends) {
            let taken = m.wire(&format!("taken_{k}"), command.fire() | io.other_taken_i.at(k));
            m.connect(io.taken_o.at(k), taken);
            m.connect(commands.times_i.at(k), io.times_i.at(k));
            m.connect(commands.taken_i.at(k), taken);
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            let asks = commands.asks_o.at(k);
            let may = io.released_i.filter(|_| u64::from(self.late) >> k & 1 == 1);
            m.connect(command.valid, may.map_or(asks, |released| asks & released));
            m.connect(command.address, io.address_i.at(k));
            m.connect(command.row_bytes, io.row_bytes_i.at(k));
            m.connect(command.rows, io.rows_i.at(k));
            m.connect(command.stride, io.stride_i.at(k));
            m.connect(end.ready, 1);
            m.unused(end.address);
        }

        m.comment("The end. The first error counts.");
        let runs = m.wire("runs", state.is("Run"));
        let overflowed = m.reg_init("overflowed_q", bit(), 0);
        overflowed.next((overflowed.q | io.overflow_i) & !fields);
        m.connect(io.overflowed_o, overflowed.q);
        let dma_failed = m.wire("dma_failed", commands.error_o.any());
        let failed = m.wire("failed", runs & (dma_failed | io.fail_i.any()));
        let done = m.wire("done", commands.done_o & io.done_i);
        m.connect(io.failed_o, failed);
        m.connect(io.runs_o, runs);
        m.connect(io.commands_done_o, commands.done_o);
        let refusal = m.wire("refusal", mux(refused, io.refuse_i, list.error_o));
        let ends = [
            (fields & io.wrong_i.any(), io.wrong_i),
            (fields | state.is("Check"), refusal),
            (runs & dma_failed, commands.error_o),
            (runs & io.fail_i.any(), io.fail_i),
            (runs, io.result_i),
        ];
        let end = m.reg("end_q", uint(8));
        end.next(select(&ends, end.q));
        m.connect(io.operation_end.valid, state.is("Tell"));
        m.connect(io.operation_end.error, end.q);

        let next = if apart { "Begin" } else { "Run" };
        for &from in states {
            state.goto(from, io.abort_i, "Idle");
        }
        state.goto("Idle", io.valid_i, "Fields");
        state.goto("Fields", io.wrong_i.any() | refused, "Tell");
        state.goto("Fields", checked, next);
        state.goto("Fields", true, "Check");
        state.goto("Check", list.error_o.any() | refused, "Tell");
        state.goto("Check", checked, next);
        if apart {
            state.goto("Begin", begins, "Run");
        }
        state.goto("Run", failed & io.settles_i, "Settle");
        state.goto("Run", failed | done, "Tell");
        state.goto("Settle", io.settled_i, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
        self.properties(m, io, &list);
    }
}

impl OperationController {
    fn operands(&self, m: &mut Module, io: &OperationControllerPorts, right: Signal) -> OperandListPorts {
        let list = m.instance("u_operands", self.list());
        m.connect(list.clear_i, io.abort_i);
        connect_all!(m, list, io, [window_base_i, window_limit_i]);
        m.connect(list.start_i, right & io.checks_i);
        m.connect(list.last_i, self.operands - 1);
        let mut of = |name: &str, values: Vec<Signal>| m.lookup(name, list.index_o, &values);
        let used = of("operand_used", io.used_i.elements());
        let operand = Operand {
            address: of("operand_address", io.operand_address_i.elements()),
            row_bytes: of("operand_row_bytes", io.operand_row_bytes_i.elements()),
            rows: of("operand_rows", io.operand_rows_i.elements()),
            stride: of("operand_stride", io.operand_stride_i.elements()),
        };
        m.connect(list.used_i, used);
        list.operand.drive(m, "operand", &operand);
        list
    }

    fn properties(&self, m: &mut Module, io: &OperationControllerPorts, list: &OperandListPorts) {
        m.formal_alone(|m| {
            m.comment(
                "An operation in hand, from its start to its end; what was found of it, and whether it has begun.",
            );
            let told = m.wire("formal_told", io.operation_end.fire());
            let takes = m.wire("formal_takes", io.valid_i & io.ready_o);
            let over = m.wire("formal_over", io.abort_i | told);
            let in_hand = m.reg_init("formal_in_hand_q", bit(), 0);
            in_hand.next(!over & (in_hand.q | takes));
            let looks = m.reg_init("formal_looks_q", bit(), 0);
            looks.next(!io.abort_i & takes);
            let [wrong, right, begun] =
                ["wrong", "right", "begun"].map(|name| m.reg_init(&format!("formal_{name}_q"), bit(), 0));
            wrong.next(!over & (wrong.q | (looks.q & io.wrong_i.any())));
            let found = m.wire("formal_found", list.passed_o | (looks.q & !io.wrong_i.any() & !io.checks_i));
            right.next(!over & (right.q | (found & !io.refuse_i.any())));
            begun.next(!over & (begun.q | io.begin_o));
            m.assume("again_while_it_runs", !io.again_i | io.runs_o);
            m.assert_always("idle_without_an_operation", io.idle_o.eq(!in_hand.q));
            m.assert_always("an_end_has_an_operation", !io.operation_end.valid | in_hand.q);
            m.assert_always("what_begins_is_right", !io.begin_o | right.q | (found & !io.refuse_i.any()));
            m.assert_always("wrong_fields_begin_nothing", !(wrong.q & (io.begin_o | begun.q)));
            m.assert_always(
                "wrong_fields_are_told",
                !(wrong.q & io.operation_end.valid) | io.operation_end.error.any(),
            );
            m.assert_always("one_begins_at_a_time", !(io.begin_o & begun.q));
            m.assert_always("runs_after_its_begin", !io.runs_o | begun.q);
            for k in 0..self.readers {
                let asks = io.read_command.at(k).valid;
                m.assert_always(&format!("read_{k}_after_its_begin"), !asks | begun.q);
            }
            m.assert_always("write_after_its_begin", !io.write_command.at(0).valid | begun.q);
            m.cover("ends_well", told & !io.operation_end.error.any() & begun.q);
            m.cover("fails", io.failed_o);
        });
    }
}

/// Rows of memory: an operand, or a command.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Address of the first row, 64 bits.
    pub address: Signal,
    /// Bytes of a row.
    pub row_bytes: Signal,
    /// Rows, 16 bits.
    pub rows: Signal,
    /// Bytes from row to row, 32 bits.
    pub stride: Signal,
}

impl Place {
    /// One row.
    #[must_use]
    pub fn row(address: Signal, row_bytes: Signal) -> Self {
        Self { address, row_bytes, rows: uint(16).lit(1), stride: uint(32).lit(0) }
    }

    /// This place where `first` holds, otherwise the other one.
    #[must_use]
    pub fn or(self, first: Signal, other: Self) -> Self {
        Self {
            address: mux(first, self.address, other.address),
            row_bytes: mux(first, self.row_bytes, other.row_bytes),
            rows: mux(first, self.rows, other.rows),
            stride: mux(first, self.stride, other.stride),
        }
    }
}

impl OperationControllerPorts {
    /// Operand `k` of the checks, and whether it is used.
    #[track_caller]
    pub fn check(&self, m: &mut Module, k: u32, used: Signal, place: Place) {
        m.connect(self.used_i.at(k), used);
        m.connect(self.operand_address_i.at(k), place.address);
        m.connect(self.operand_row_bytes_i.at(k), place.row_bytes);
        m.connect(self.operand_rows_i.at(k), place.rows);
        m.connect(self.operand_stride_i.at(k), place.stride);
    }

    /// The next command for DMA `k`, and how many it gets.
    #[track_caller]
    pub fn command(&self, m: &mut Module, k: u32, times: Signal, place: Place) {
        let (times_width, address_width) = (self.times_i.ty().element.width, self.address_i.ty().element.width);
        m.connect(self.times_i.at(k), times.extend(times_width));
        m.connect(self.address_i.at(k), place.address.slice(0..address_width));
        m.connect(self.row_bytes_i.at(k), place.row_bytes);
        m.connect(self.rows_i.at(k), place.rows);
        m.connect(self.stride_i.at(k), place.stride);
    }

    /// Why fields are wrong: what the decoder of an operation says, an unknown number that it cannot know, a size that
    /// depends on others.
    #[track_caller]
    pub fn refuse(&self, m: &mut Module, operation: &Decoder, unknown: Signal, wrong_size: Signal) {
        let wrong = first_error(&[
            (operation.reserved, job_error::RESERVED),
            (operation.unknown | unknown, job_error::FIELD),
            (operation.wrong_size | wrong_size, job_error::SIZE),
        ]);
        m.connect(self.wrong_i, wrong);
    }

    /// What an operation has that needs none of it: checks of all operands, one round of commands, no error of its own,
    /// nothing to wait for but commands.
    #[must_use]
    pub fn own(&self) -> Own {
        let (yes, no, none) = (bit().lit(1), bit().lit(0), uint(8).lit(0));
        Own { checks: yes, refuse: none, again: no, fail: none, done: yes, result: none, settles: no, settled: yes }
    }
}

/// What an accelerator adds to the controller's own rules; see the ports of [`OperationController`].
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// `checks_i`.
    pub checks: Signal,
    /// `refuse_i`.
    pub refuse: Signal,
    /// `again_i`.
    pub again: Signal,
    /// `fail_i`.
    pub fail: Signal,
    /// `done_i`.
    pub done: Signal,
    /// `result_i`.
    pub result: Signal,
    /// `settles_i`.
    pub settles: Signal,
    /// `settled_i`.
    pub settled: Signal,
}

impl Own {
    /// Connects all of it.
    #[track_caller]
    pub fn connect(self, m: &mut Module, to: &OperationControllerPorts) {
        m.connect_pairs([
            (to.checks_i, self.checks),
            (to.refuse_i, self.refuse),
            (to.again_i, self.again),
            (to.fail_i, self.fail),
            (to.done_i, self.done),
            (to.result_i, self.result),
            (to.settles_i, self.settles),
            (to.settled_i, self.settled),
        ]);
    }
}

/// The number of the first error that holds, or 0.
#[must_use]
pub fn first_error(errors: &[(Signal, u32)]) -> Signal {
    let errors: Vec<_> = errors.iter().map(|&(holds, number)| (holds, uint(8).lit(number))).collect();
    select(&errors, uint(8).lit(0))
}
