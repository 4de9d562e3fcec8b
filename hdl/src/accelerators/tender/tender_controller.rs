//! Does one product or one packing: checks its fields and operands, gives the DMAs their commands, and waits for all of
//! them.

use super::execution_controller::{ExecutionController, Tiles};
use super::result_stage::ResultMode;
use super::strip_walker::StripWalker;
use super::turn_buffer::{Page, TurnBuffer};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::lang::{
    About, Block, Bundle, Field, In, InStream, InStreams, Module, Out, OutBundle, OutStream, OutStreams, Signal, bit,
    bits_for, bundle, cat, mux, parameters, ports, power_of_two, select, uint,
};

/// Operands that are read: A or rows, B, indices, constants.
pub(super) const READERS: u32 = 4;

/// Words of an operation: a descriptor of 128 bytes without its header.
const WORDS: u32 = 24;

/// Operation of a product; any other one packs rows.
pub(super) const MATMUL: u32 = 1;

parameters! {
    /// Elaboration parameters.
    pub struct TenderController {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Rows of the array.
        rows: u32 = 16, in power_of_two(2..=256), tag "r";
        /// Columns of the array.
        columns: u32 = 16, in power_of_two(4..=256), tag "c";
        /// Bits of an operand of a PE.
        operand_width: u32 = 4, in power_of_two(2..=8), tag "w";
        /// Channels of a panel, entries of the index buffer.
        execution: ExecutionController = ExecutionController::default();
        /// Pages of rows.
        turn: TurnBuffer = TurnBuffer::default();
    }
    rules = |p, rules| {
        let longest = [
            u64::from(p.execution.depth) * u64::from(p.word(p.rows.max(p.columns))),
            65_535 * u64::from(p.word(p.rows)),
            65_535 * u64::from(RECORD),
        ];
        let least = longest.into_iter().map(bits_for).max().unwrap_or(0);
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
        rules.part("turn.columns", &p.strips());
    };
}

/// Bytes of the constants of a column.
const RECORD: u32 = 16;

impl TenderController {
    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }

    fn operands(&self) -> OperandList {
        OperandList::of(READERS + 1, OperandCheck::of(&self.axi, &self.dma))
    }

    /// The right matrix is read for each row of tiles.
    fn command_list(&self) -> CommandList {
        CommandList { dmas: READERS + 1, times: 65535, commands: self.dma.commands }
    }

    fn strips(&self) -> StripWalker {
        StripWalker { axi: self.axi.clone(), dma: self.dma.clone(), rows: self.rows, turn: self.turn.clone() }
    }

    /// Bytes of a word of a panel of `lines` lines.
    fn word(&self, lines: u32) -> u32 {
        lines * self.operand_width / 8
    }
}

bundle! {
    /// How operands are read.
    pub struct OperandSigns(_unit: ()) {
        /// Operands of twice the width of a PE's.
        int8: Field = bit(),
        /// Operands of A are signed.
        act_signed: Field = bit(),
        /// Operands of B are signed.
        weight_signed: Field = bit(),
    }
}

ports! {
    /// Ports of [`TenderController`].
    pub struct TenderControllerPorts(p: &TenderController) {
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
        /// It is a product; valid from begin_o up to the end.
        product_o: Out = bit(),
        /// Its tiles; valid as product_o.
        tiles: OutBundle<Tiles> = p.execution.clone(),
        /// How operands are read; valid as product_o.
        signs: OutBundle<OperandSigns> = (),
        /// Kind of the results; valid as product_o.
        mode: OutBundle<ResultMode> = (),
        /// Pages of the turn buffer.
        page: OutStream<Page> = p.turn.clone(),
        /// An entry of the indices is wrong.
        index_error_i: In = bit(),
        /// A column of results has an overflow of any kind.
        overflow_i: In = bit(),
        /// What to read: A or rows, B, indices, constants.
        read_command: OutStreams<DmaCommand> = (READERS, p.commands()),
        /// Ends of the reads.
        read_end: InStreams<DmaCompletion> = (READERS, p.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = p.commands(),
        /// End of the write.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

/// An operand: where it is, how long its rows are, and how many.
struct Place {
    address: Signal,
    stride: Signal,
    row_bytes: Signal,
    rows: Signal,
    used: Signal,
}

/// An operation's fields.
struct Fields {
    rows: Signal,
    columns: Signal,
    channels: Signal,
    steps: Signal,
    flags: Signal,
    product: Signal,
    reserved: Signal,
}

impl Fields {
    fn new(m: &mut Module, io: &TenderControllerPorts) -> Self {
        let word = |k: u32| io.operation.words.at(k);
        let product = m.wire("product", io.operation.opcode.eq(MATMUL));
        let flags = word(4);
        let strange = cat(&[flags.slice(13..32), flags.slice(9..12), flags.bit(3)]);
        let tail = cat(&[word(5), word(17), word(20), word(21), word(22), word(23)]);
        let unknown = [flags.bit(7), flags.bit(4), flags.bit(2), flags.bit(1)];
        let foreign = cat(&unknown).any()
            | [2, 3, 7, 10, 11, 12, 13].into_iter().map(|k| word(k).any()).fold(bit().lit(0), |a, b| a | b);
        let explicit = match io.tiles.explicit {
            Some(_) => flags.bit(8) & !product,
            None => flags.bit(8),
        };
        let reserved = m.wire("reserved", strange.any() | tail.any() | explicit | (!product & foreign));
        Self { rows: word(0), columns: word(1), channels: word(2), steps: word(3), flags, product, reserved }
    }

    fn int8(&self) -> Signal {
        self.flags.bit(0)
    }

    /// Results are integers.
    fn integers(&self) -> Signal {
        self.flags.bit(4) | !self.product
    }

    fn per_row(&self) -> Signal {
        self.flags.bit(7)
    }
}

impl Block for TenderController {
    type Ports = TenderControllerPorts;
    const ABOUT: About = About {
        name: "tender_controller",
        summary: "checks a product or a packing and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_SIZE (9) for a size. Then\n\
            each operand that is used, as operand_check says. Nothing is read or written unless all is right. Then\n\
            all DMAs are asked. The operation ends with their last end, with the first error of a DMA, or at a\n\
            wrong index. With bit 12 of the flags, an overflow is ERROR_OVERFLOW (14).",
        reference: "Tender, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &TenderControllerPorts) {
        let states = ["Idle", "Fields", "Check", "Begin", "Run", "Tell"];
        let state = m.fsm("state", &states);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.independent);
        let fields = Fields::new(m, io);
        let code = |number: u32| uint(8).lit(number);
        let wrong_size = self.sizes(m, &fields);
        let wrongs = [(fields.reserved, code(job_error::RESERVED)), (wrong_size, code(job_error::SIZE))];
        let wrong = m.wire("wrong_field", select(&wrongs, code(0)));
        let (row_tiles, column_tiles) = (
            self.tiles(m, "row_tiles", fields.rows, self.rows, &fields),
            self.tiles(m, "column_tiles", fields.columns, self.columns, &fields),
        );
        let places = self.places(m, io, &fields, (row_tiles, column_tiles));
        self.modes(m, io, &fields, (row_tiles, column_tiles));

        m.comment("One operand after the other.");
        let last = READERS;
        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, READERS);
        let of = |m: &mut Module, name: &str, value: fn(&Place) -> Signal| {
            let values: Vec<Signal> = places.iter().map(value).collect();
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
        let strips = m.instance("u_strips", self.strips());
        let by_strips = m.wire("by_strips", !fields.product | !fields.integers());
        m.connect(strips.clear_i, io.abort_i);
        m.connect(strips.begin_i, begins & by_strips);
        let rows_place = mux(fields.product, places[4].address, places[0].address);
        m.connect(strips.matrix.address, rows_place.slice(0..self.axi.address_width));
        m.connect(strips.matrix.stride, mux(fields.product, places[4].stride, places[0].stride));
        m.connect(strips.matrix.rows, fields.rows.slice(0..16));
        m.connect(strips.matrix.columns, fields.columns.slice(0..16));
        m.connect(strips.matrix.half, fields.int8());
        m.connect_stream(&io.page, &strips.page);
        let mut strips_taken = bit().lit(0);
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, begins);
        for (k, place) in (0..).zip(&places) {
            let (command, end) = if k < last {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            let one = uint(16).lit(1);
            let zero = uint(16).lit(0);
            // Rows of A that are packed, and fp16 results, move in strips.
            let (times, strip) = match k {
                0 => (mux(fields.product, one, zero), Some(!fields.product)),
                1 => (row_tiles, None),
                4 => (mux(by_strips & fields.product, zero, one), Some(by_strips & fields.product)),
                _ => (one, None),
            };
            m.connect(commands.times_i.at(k), mux(place.used, times, zero));
            m.connect(commands.taken_i.at(k), command.fire());
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            let asks = commands.asks_o.at(k);
            let plain = [
                (command.address, place.address.slice(0..self.axi.address_width), strips.command.address),
                (command.row_bytes, place.row_bytes, strips.command.row_bytes),
                (command.rows, self.command_rows(k, place, row_tiles, &fields), strips.command.rows),
                (command.stride, place.stride, strips.command.stride),
            ];
            let here = strip.map(|s| m.wire(&format!("strips_{k}"), s & !io.abort_i));
            for (to, from, from_strip) in plain {
                m.connect(to, here.map_or(from, |here| mux(here, from_strip, from)));
            }
            match here {
                Some(here) => {
                    m.connect(command.valid, mux(here, strips.command.valid, asks));
                    strips_taken = strips_taken | (here & command.ready);
                }
                None => m.connect(command.valid, asks),
            }
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        m.connect(strips.command.ready, strips_taken);
        let done = m.wire("all_ended", commands.done_o & !strips.busy_o);
        let failed = m.wire("failed", commands.error_o.any());

        let overflowed = m.reg_init("overflowed_q", bit(), 0);
        overflowed.next((overflowed.q | io.overflow_i) & !state.is("Fields"));
        let overflow = m.wire("overflow", overflowed.q & fields.flags.bit(12));
        let ends = [
            (state.is("Fields"), wrong),
            (state.is("Check"), list.error_o),
            (failed, commands.error_o),
            (state.is("Run") & io.index_error_i, code(job_error::FIELD)),
            (state.is("Run"), mux(overflow, code(job_error::OVERFLOW), code(0))),
        ];
        let end = m.reg("end_q", uint(8));
        end.next(select(&ends, end.q));
        m.connect(io.operation_end.valid, state.is("Tell"));
        m.connect(io.operation_end.error, end.q);

        for from in states {
            state.goto(from, io.abort_i, "Idle");
        }
        state.goto("Idle", io.operation.valid, "Fields");
        state.goto("Fields", wrong.any(), "Tell");
        state.goto("Fields", true, "Check");
        state.goto("Check", list.error_o.any(), "Tell");
        state.goto("Check", list.passed_o, "Begin");
        state.goto("Begin", true, "Run");
        state.goto("Run", failed | io.index_error_i | overflow | done, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

impl TenderController {
    fn sizes(&self, m: &mut Module, fields: &Fields) -> Signal {
        let none = |count: Signal| !count.any() | count.slice(16..32).any();
        let channels = !fields.channels.any() | fields.channels.gt(self.execution.depth);
        let steps = !fields.steps.any() | fields.steps.gt(self.execution.steps);
        m.wire("wrong_size", none(fields.rows) | none(fields.columns) | (fields.product & (channels | steps)))
    }

    /// Panels that `lines` lines take.
    fn tiles(&self, m: &mut Module, name: &str, lines: Signal, of: u32, fields: &Fields) -> Signal {
        let shift = of.trailing_zeros();
        let lines = lines.slice(0..16);
        let panels = |of: u32, shift: u32| match shift {
            0 => lines,
            _ => lines.extend(17).wrapping_add(of - 1).shr(shift).extend(16),
        };
        m.wire(name, mux(fields.int8(), panels(of / 2, shift - 1), panels(of, shift)))
    }

    fn places(
        &self,
        m: &mut Module,
        io: &TenderControllerPorts,
        fields: &Fields,
        (row_tiles, column_tiles): (Signal, Signal),
    ) -> Vec<Place> {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let width = self.dma.row_width;
        let times = |count: Signal, by: u32| {
            let bytes = count.shl(by.trailing_zeros());
            if bytes.width() > width { bytes.slice(0..width) } else { bytes.extend(width) }
        };
        let no_stride = uint(32).lit(0);
        let one = uint(16).lit(1);
        let (rows, columns) = (fields.rows.slice(0..16), fields.columns.slice(0..16));
        let channels = fields.channels.slice(0..bits_for(self.execution.depth.into()));
        let steps = fields.steps.slice(0..bits_for(self.execution.steps.into()));
        let rows_bytes = m.wire("rows_bytes", times(columns, 2));
        let panel_bytes = m.wire("panel_bytes", times(columns, self.word(self.rows)));
        let first_bytes = mux(fields.product, times(channels, self.word(self.rows)), rows_bytes);
        let described = mux(fields.per_row(), rows, columns);
        let in_panels = fields.integers();
        let yes = bit().lit(1);
        let place = |address, stride, row_bytes, rows, used| Place { address, stride, row_bytes, rows, used };
        vec![
            place(
                wide(8),
                word(6),
                m.wire("first_bytes", first_bytes),
                m.wire("first_rows", mux(fields.product, row_tiles, rows)),
                yes,
            ),
            place(wide(10), word(7), times(channels, self.word(self.columns)), column_tiles, fields.product),
            place(wide(12), no_stride, times(steps, 2), one, fields.product),
            place(wide(14), no_stride, m.wire("constants_bytes", times(described, RECORD)), one, yes),
            place(
                wide(18),
                word(16),
                m.wire("out_bytes", mux(in_panels, panel_bytes, rows_bytes)),
                m.wire("out_rows", mux(in_panels, row_tiles, rows)),
                yes,
            ),
        ]
    }

    /// Rows of a DMA's command: constants of columns are read again for each panel.
    fn command_rows(&self, k: u32, place: &Place, row_tiles: Signal, fields: &Fields) -> Signal {
        if k == 3 { mux(fields.per_row(), place.rows, row_tiles) } else { place.rows }
    }

    fn modes(
        &self,
        m: &mut Module,
        io: &TenderControllerPorts,
        fields: &Fields,
        (row_tiles, column_tiles): (Signal, Signal),
    ) {
        m.connect(io.product_o, fields.product);
        for (to, from) in [
            (io.tiles.row_tiles, row_tiles),
            (io.tiles.column_tiles, column_tiles),
            (io.tiles.steps, fields.steps.slice(0..io.tiles.steps.width())),
            (io.tiles.channels, fields.channels.slice(0..io.tiles.channels.width())),
            (io.signs.int8, fields.int8()),
            (io.signs.act_signed, !fields.flags.bit(1)),
            (io.signs.weight_signed, !fields.flags.bit(2)),
            (io.mode.rows, fields.rows.slice(0..16)),
            (io.mode.columns, fields.columns.slice(0..16)),
            (io.mode.from_values, !fields.product),
            (io.mode.int8, fields.int8()),
            (io.mode.integers, fields.integers()),
            (io.mode.unsigned, fields.flags.bit(5)),
            (io.mode.relu, fields.flags.bit(6)),
            (io.mode.per_row, fields.per_row()),
        ] {
            m.connect(to, from);
        }
        if let Some(explicit) = io.tiles.explicit {
            m.connect(explicit, fields.flags.bit(8));
        }
    }
}
