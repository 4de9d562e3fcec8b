//! Does one product, of tokens or of integers: checks its fields and operands, gives the DMAs their commands, and waits
//! for all of them.

use super::kllm_spec::{COUNT, KllmSpec, ProductSize};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutBundle, OutStream, OutStreams, Signal, Timing, bit,
    bits_for, cat, mux, parameters, ports, select, uint,
};

/// Read DMAs: codebook and heads of tokens, their indices, their outliers, panels of weights, constants, addends.
pub(super) const READERS: u32 = 6;
/// The DMAs in that order, then the DMAs with panels of further groups, and the DMA that writes.
const HEADS: u32 = 0;
const INDICES: u32 = 1;
const OUTLIERS: u32 = 2;
const PANELS: u32 = 3;
const CONSTANTS: u32 = 4;
const ADDENDS: u32 = 5;

/// Operands that are checked.
const OPERANDS: u32 = 6;
/// Words of an operation: a descriptor of 128 bytes without its header.
pub(super) const WORDS: u32 = 24;
/// Operation of a product of tokens, and operation of a product of integers.
const MATMUL: u32 = 1;
const SCORES: u32 = 2;
/// Bit of the options: an overflow is an error.
pub(super) const EXACT: u32 = 12;
/// Bytes of a token before its indices.
pub(super) const HEAD_BYTES: u32 = 64;
/// Bytes of the constants of a channel.
const CONSTANT_BYTES: u32 = 8;
/// Bytes of a codebook.
pub(super) const CODEBOOK_BYTES: u32 = 192;

const STATES: [&str; 6] = ["Idle", "Fields", "Check", "Begin", "Run", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct KllmController {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| {
        let longest = [
            u64::from(p.spec.depth) * u64::from(p.spec.beat_bytes()),
            65_535 * u64::from(CONSTANT_BYTES),
            65_536,
            u64::from(HEAD_BYTES) + 65_536 / 2 + u64::from(8 * p.spec.kmax) + 64,
        ];
        let least = longest.into_iter().map(bits_for).max().unwrap_or(0);
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

impl KllmController {
    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }

    fn operands(&self) -> OperandList {
        OperandList::of(OPERANDS, OperandCheck::of(&self.axi, &self.dma))
    }

    /// Tokens are read for each panel, and a codebook before the heads.
    fn command_list(&self) -> CommandList {
        CommandList { dmas: self.spec.readers() + 1, times: 65535, commands: self.dma.commands }
    }

    /// The group whose panels a DMA reads.
    fn group_of(&self, k: u32) -> Option<u32> {
        let further = k.checked_sub(READERS).filter(|_| k < self.spec.readers());
        if k == PANELS { Some(0) } else { further.map(|further| further + 1) }
    }
}

ports! {
    /// Ports of [`KllmController`].
    pub struct KllmControllerPorts(p: &KllmController) {
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
        /// For one cycle: a product that is right begins.
        begin_o: Out = bit(),
        /// Its size; valid from begin_o up to the end.
        size: OutBundle<ProductSize> = (),
        /// A head, an outlier or a centroid means nothing.
        field_error_i: In = bit(),
        /// A result has an overflow.
        overflow_i: In = bit(),
        /// What to read: the codebook and then heads, indices, outliers, panels, constants, addends; panels of further
        /// groups.
        read_command: OutStreams<DmaCommand> = (p.spec.readers(), p.commands()),
        /// Ends of the reads.
        read_end: InStreams<DmaCompletion> = (p.spec.readers(), p.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = p.commands(),
        /// End of the write.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

/// An operand: where it is, how long its rows are, and how many.
#[derive(Clone, Copy)]
struct Place {
    address: Signal,
    stride: Signal,
    row_bytes: Signal,
    rows: Signal,
    used: Signal,
}

/// All operands, in the order of the checks.
struct Places {
    tokens: Place,
    panels: Place,
    constants: Place,
    codebook: Place,
    out: Place,
    addends: Place,
    /// Of a token.
    index_bytes: Signal,
    outlier_bytes: Signal,
}

impl Places {
    fn all(&self) -> [Place; 6] {
        [self.tokens, self.panels, self.constants, self.codebook, self.out, self.addends]
    }
}

/// An operation's fields.
struct Fields {
    tokens: Signal,
    channels: Signal,
    inner: Signal,
    outliers: Signal,
    add: Signal,
    exact: Signal,
    /// Tokens are rows of integers.
    integers: Signal,
    reserved: Signal,
    unknown: Signal,
}

impl Fields {
    fn new(m: &mut Module, io: &KllmControllerPorts) -> Self {
        let word = |k: u32| io.operation.words.at(k);
        let (options, add) = (word(3), word(4));
        let integers = m.wire("integers", io.operation.opcode.eq(SCORES));
        // Integers have no outliers.
        let none = word(21) & integers.repeat(32);
        let strange =
            cat(&[options.slice(13..32), options.slice(0..EXACT), add.slice(1..32), none, word(22), word(23)]);
        Self {
            tokens: word(0),
            channels: word(1),
            inner: word(2),
            outliers: word(21),
            add: add.bit(0),
            exact: options.bit(EXACT),
            integers,
            reserved: m.wire("reserved", strange.any()),
            unknown: m.wire("unknown", io.operation.opcode.ne(MATMUL) & !integers),
        }
    }
}

impl Block for KllmController {
    type Ports = KllmControllerPorts;
    const ABOUT: About = About {
        name: "kllm_controller",
        summary: "checks a product of tokens or integers and weights and has it done",
        contract: "Other operations than the product of tokens (1) and of integers (2) are refused with ERROR_FIELD\n\
            (15). Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_SIZE (9) for a size. Then each\n\
            operand that is used, as operand_check says. Nothing is read or written unless all is right. Then all\n\
            DMAs are asked. The operation ends with their last end, or with the first error: an error of a DMA, or\n\
            ERROR_FIELD (15) for a head, outlier or centroid without a meaning. With bit 12 of the options, an\n\
            overflow is ERROR_OVERFLOW (14).",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &KllmControllerPorts) {
        let state = m.fsm("state", &STATES);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.independent);
        let fields = Fields::new(m, io);
        let code = |number: u32| uint(8).lit(number);
        let wrongs = [
            (fields.unknown, code(job_error::FIELD)),
            (fields.reserved, code(job_error::RESERVED)),
            (self.wrong_size(m, &fields), code(job_error::SIZE)),
        ];
        let wrong = m.wire("wrong_field", select(&wrongs, code(0)));
        let panels = self.size(m, io, &fields);
        let places = self.places(m, io, &fields, panels);

        m.comment("One operand after the other.");
        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, OPERANDS - 1);
        let of = |m: &mut Module, name: &str, value: fn(Place) -> Signal| {
            let values: Vec<Signal> = places.all().into_iter().map(value).collect();
            m.lookup(name, list.index_o, &values)
        };
        let operand = Operand {
            address: of(m, "operand_address", |p| p.address),
            row_bytes: of(m, "operand_bytes", |p| p.row_bytes),
            rows: of(m, "operand_rows", |p| p.rows),
            stride: of(m, "operand_stride", |p| p.stride),
        };
        let used = of(m, "operand_used", |p| p.used);
        m.connect(list.used_i, used);
        list.operand.drive(m, "operand", &operand);

        m.comment("Commands that are to be given, and commands that have not ended.");
        let begins = m.wire("begins", state.is("Begin"));
        m.connect(io.begin_o, begins);
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, begins);
        let zero = uint(16).lit(0);
        // The panels of the group before.
        let (checks, mut at_before) = (state.is("Check"), places.panels.address);
        let readers = self.spec.readers();
        for k in 0..=readers {
            let (command, end) = if k < readers {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            let times = match k {
                HEADS => mux(fields.integers, uint(16).lit(1), panels.wrapping_add(1)),
                OUTLIERS => mux(fields.outliers.any(), panels, zero),
                CONSTANTS => uint(16).lit(1),
                ADDENDS => mux(fields.add, panels, zero),
                _ => panels,
            };
            let taken = m.wire(&format!("taken_{k}"), command.fire());
            m.connect(commands.times_i.at(k), times);
            m.connect(commands.taken_i.at(k), taken);
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            m.connect(command.valid, commands.asks_o.at(k));
            let place = self.command(m, io, &places, (k, checks, begins, taken), at_before, &fields);
            at_before = if self.group_of(k).is_some_and(|group| group > 0) { place.address } else { at_before };
            m.connect(command.address, place.address.slice(0..self.axi.address_width));
            m.connect(command.row_bytes, place.row_bytes);
            m.connect(command.rows, place.rows);
            m.connect(command.stride, place.stride);
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        let done = m.wire("all_ended", commands.done_o);
        let failed = m.wire("failed", commands.error_o.any());

        let overflowed = m.reg_init("overflowed_q", bit(), 0);
        overflowed.next((overflowed.q | io.overflow_i) & !state.is("Fields"));
        let overflow = m.wire("overflow", overflowed.q & fields.exact);
        let ends = [
            (state.is("Fields"), wrong),
            (state.is("Check"), list.error_o),
            (failed, commands.error_o),
            (state.is("Run") & io.field_error_i, code(job_error::FIELD)),
            (state.is("Run"), mux(overflow, code(job_error::OVERFLOW), code(0))),
        ];
        let end = m.reg("end_q", uint(8));
        end.next(select(&ends, end.q));
        m.connect(io.operation_end.valid, state.is("Tell"));
        m.connect(io.operation_end.error, end.q);

        for from in STATES {
            state.goto(from, io.abort_i, "Idle");
        }
        state.goto("Idle", io.operation.valid, "Fields");
        state.goto("Fields", wrong.any(), "Tell");
        state.goto("Fields", true, "Check");
        state.goto("Check", list.error_o.any(), "Tell");
        state.goto("Check", list.passed_o, "Begin");
        state.goto("Begin", true, "Run");
        state.goto("Run", failed | io.field_error_i | overflow | done, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }

    fn timing(&self) -> Timing {
        // The state of the fields; an operand takes 19 cycles, an unused one 1.
        Timing::new().phase(
            "checks",
            1 + 19 * OPERANDS,
            "from an operation with addends to the cycle in which it begins",
        )
    }
}

impl KllmController {
    fn wrong_size(&self, m: &mut Module, fields: &Fields) -> Signal {
        let none = |count: Signal| !count.any() | count.slice(16..32).any();
        let inner = !fields.inner.any() | fields.inner.gt(self.spec.inner());
        let outliers = fields.outliers.gt(2 * self.spec.kmax);
        m.wire("wrong_size", none(fields.tokens) | none(fields.channels) | inner | outliers)
    }

    /// The size of the product; returns its panels.
    fn size(&self, m: &mut Module, io: &KllmControllerPorts, fields: &Fields) -> Signal {
        let (inputs, panel) = (self.spec.inputs, self.spec.panel());
        let inner = fields.inner.slice(0..COUNT);
        let shift = |up: Signal, by: u32| up.shr(by.trailing_zeros());
        let beats = m.wire("beats", shift(inner.wrapping_add(inputs - 1), inputs).extend(COUNT));
        let channels = fields.channels.slice(0..16).extend(COUNT);
        for (to, from) in [
            (io.size.tokens, fields.tokens.slice(0..16)),
            (io.size.channels, fields.channels.slice(0..16)),
            (io.size.inner, inner),
            (io.size.beats, beats),
            (io.size.outliers, fields.outliers.slice(0..COUNT)),
            (io.size.fits, beats.le(self.spec.buffer)),
            (io.size.add, fields.add),
            (io.size.integers, fields.integers),
        ] {
            m.connect(to, from);
        }
        m.wire("panels", shift(channels.wrapping_add(panel - 1), panel).extend(16))
    }

    /// Panels in memory: the panels of all groups.
    fn in_memory(&self, panels: Signal) -> Signal {
        panels.shl(self.spec.groups.trailing_zeros()).slice(0..16)
    }

    fn places(&self, m: &mut Module, io: &KllmControllerPorts, fields: &Fields, panels: Signal) -> Places {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let width = self.dma.row_width;
        let bytes = |value: Signal| if value.width() > width { value.slice(0..width) } else { value.extend(width) };
        // To the next multiple of 64.
        let whole = |value: Signal| cat(&[value.wrapping_add(63).slice(6..width), uint(6).lit(0)]);
        let inner = fields.inner.slice(0..COUNT);
        let nibbles = mux(fields.integers, inner, inner.wrapping_add(1).shr(1).extend(COUNT));
        let index_bytes = m.wire("index_bytes", whole(bytes(nibbles)));
        let outliers = fields.outliers.slice(0..COUNT);
        let outlier_bytes = m.wire("outlier_bytes", whole(bytes(outliers.shl(2))));
        let token_bytes = index_bytes.wrapping_add(outlier_bytes).wrapping_add(HEAD_BYTES);
        let token_bytes = mux(fields.integers, index_bytes, token_bytes);
        let beat_bytes = self.spec.beat_bytes();
        let panel_bytes = bytes(io.size.beats.shl(beat_bytes.trailing_zeros()));
        let channels = fields.channels.slice(0..16);
        let out_bytes = m.wire("out_bytes", bytes(channels.shl(1)));
        let (yes, one, none) = (bit().lit(1), uint(16).lit(1), uint(32).lit(0));
        let tokens = fields.tokens.slice(0..16);
        let place = |address, stride, row_bytes, rows, used| Place { address, stride, row_bytes, rows, used };
        Places {
            tokens: place(wide(8), word(5), m.wire("token_bytes", token_bytes), tokens, yes),
            panels: place(wide(10), word(6), m.wire("panel_bytes", panel_bytes), self.in_memory(panels), yes),
            constants: place(wide(12), none, m.wire("constant_bytes", bytes(channels.shl(3))), one, yes),
            codebook: place(wide(14), none, uint(width).lit(CODEBOOK_BYTES), one, yes),
            out: place(wide(16), word(7), out_bytes, tokens, yes),
            addends: place(wide(18), word(20), out_bytes, tokens, fields.add),
            index_bytes,
            outlier_bytes,
        }
    }

    /// The next command for DMA `k`.
    fn command(
        &self,
        m: &mut Module,
        io: &KllmControllerPorts,
        places: &Places,
        (k, checks, begins, taken): (u32, Signal, Signal, Signal),
        at_before: Signal,
        fields: &Fields,
    ) -> Place {
        let tokens = places.tokens;
        let head = tokens.address.wrapping_add(mux(fields.integers, uint(64).lit(0), HEAD_BYTES));
        match k {
            HEADS => {
                let given = m.reg_init("codebook_given_q", bit(), 0);
                given.next((taken | given.q) & !begins);
                let of = |heads: Signal, codebook: Signal| mux(given.q, heads, codebook);
                let width = self.dma.row_width;
                Place {
                    address: of(tokens.address, places.codebook.address),
                    stride: of(tokens.stride, places.codebook.stride),
                    row_bytes: of(uint(width).lit(HEAD_BYTES), places.codebook.row_bytes),
                    rows: of(tokens.rows, places.codebook.rows),
                    used: tokens.used,
                }
            }
            INDICES => Place { address: m.wire("index_address", head), row_bytes: places.index_bytes, ..tokens },
            OUTLIERS => {
                let behind = head.wrapping_add(places.index_bytes.extend(64));
                Place { address: m.wire("outlier_address", behind), row_bytes: places.outlier_bytes, ..tokens }
            }
            _ if let Some(group) = self.group_of(k) => {
                let (stride, groups) = (places.panels.stride.extend(64), self.spec.groups);
                let step = |at: Signal| at.wrapping_add(stride.shl(groups.trailing_zeros()).slice(0..64));
                let at = if group == 0 {
                    self.next(m, "panel_address_q", places.panels.address, (begins, taken), step)
                } else {
                    // After the first panel of the group before; known long before the checks are over.
                    let at = m.reg(&format!("panel_{group}_address_q"), uint(64));
                    let first = at_before.wrapping_add(stride);
                    at.next_when(checks | taken, mux(checks, first, step(at.q)));
                    at.q
                };
                let rows = mux(io.size.fits, uint(16).lit(1), tokens.rows);
                Place { address: at, rows, stride: uint(32).lit(0), ..places.panels }
            }
            CONSTANTS => places.constants,
            _ => {
                let (name, place) =
                    if k == self.spec.readers() { ("out", places.out) } else { ("addend", places.addends) };
                let panel = self.spec.panel();
                let moves = (begins, taken);
                let at =
                    self.next(m, &format!("{name}_address_q"), place.address, moves, |at| at.wrapping_add(2 * panel));
                let first = fields.channels.slice(0..16).extend(COUNT);
                let left = self.next(m, &format!("{name}_channels_q"), first, moves, |left| left.wrapping_sub(panel));
                let here = mux(left.gt(panel), uint(COUNT).lit(panel), left);
                let bytes = here.shl(1).extend(self.dma.row_width);
                Place { address: at, row_bytes: m.wire(&format!("{name}_bytes_here"), bytes), ..place }
            }
        }
    }

    /// A value that begins with `first` and moves on with each command that is taken.
    fn next(
        &self,
        m: &mut Module,
        name: &str,
        first: Signal,
        (begins, taken): (Signal, Signal),
        step: impl FnOnce(Signal) -> Signal,
    ) -> Signal {
        let at = m.reg(name, first.ty());
        let moved = step(at.q);
        at.next_when(begins | taken, mux(begins, first, moved));
        at.q
    }
}
