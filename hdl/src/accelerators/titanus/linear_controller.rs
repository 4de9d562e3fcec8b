//! Does one load or one product: checks its fields and operands, gives the DMAs their commands, and waits for all of
//! them.

use super::titanus_spec::{COUNT, LinearWork, TitanusSpec};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::blocks::titanus::cache_writer::TOKENS;
use crate::lang::{
    About, Block, Bundle, In, InStream, Module, Out, OutBundle, OutStream, Signal, bit, bits_for, cat, mux, parameters,
    ports, select, uint,
};

/// Operation that loads.
pub(super) const LOAD: u32 = 1;

/// Words of an operation: a descriptor of 128 bytes without its header.
pub(super) const WORDS: u32 = 24;

/// Rows that are read, rows that are written.
const OPERANDS: u32 = 2;

const STATES: [&str; 5] = ["Idle", "Fields", "Check", "Run", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct LinearController {
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
    /// Ports of [`LinearController`].
    pub struct LinearControllerPorts(p: &LinearController) {
        /// Drops the operation.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// Tokens of the context; steady while an operation is in hand.
        context_tokens_i: In = uint(TOKENS),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// For one cycle: an operation that is right begins.
        begin_o: Out = bit(),
        /// A load is in hand, not a product.
        loads_o: Out = bit(),
        /// The work; valid from begin_o up to the end.
        work: OutBundle<LinearWork> = p.spec.clone(),
        /// All loaded rows have been written.
        loaded_i: In = bit(),
        /// A result overflowed.
        overflow_i: In = bit(),
        /// What to read.
        read_command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// How reading ended.
        read_end: InStream<DmaCompletion> = p.axi.clone(),
        /// Where to write.
        write_command: OutStream<DmaCommand> = (p.axi.clone(), p.dma.clone()),
        /// How writing ended.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

/// An operation's fields.
struct Fields {
    load: Signal,
    /// A load of constants.
    constants: Signal,
    /// A product with the context, with its values.
    context: Signal,
    values: Signal,
    options: Signal,
    matrix: Signal,
}

impl Fields {
    fn new(m: &mut Module, io: &LinearControllerPorts) -> Self {
        let word = |k: u32| io.operation.words.at(k);
        let load = m.wire("load", io.operation.opcode.eq(LOAD));
        let options = word(3);
        let matrix = word(12);
        let context = m.wire("of_context", !load & matrix.any());
        let constants = m.wire("constants", load & options.bit(0));
        Self { load, constants, context, values: m.wire("of_values", context & matrix.bit(1)), options, matrix }
    }
}

impl LinearController {
    fn operands(&self) -> OperandList {
        OperandList::of(OPERANDS, OperandCheck::of(&self.axi, &self.dma))
    }

    fn command_list(&self) -> CommandList {
        CommandList { dmas: OPERANDS, times: 1, commands: self.dma.commands }
    }
}

impl Block for LinearController {
    type Ports = LinearControllerPorts;
    const ABOUT: About = About {
        name: "linear_controller",
        summary: "checks a load or a product of the Titanus core and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_FIELD (15) for a matrix that\n\
            does not exist, ERROR_SIZE (9) for a size. Then the rows that are read and written, as operand_check\n\
            says. Nothing is read, written or changed unless all is right. The first error of a DMA, or the end of\n\
            all, ends the operation. With bit 12 of a product's options, an overflow is ERROR_OVERFLOW (14).",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &LinearControllerPorts) {
        let state = m.fsm("state", &STATES);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.independent);
        let fields = Fields::new(m, io);
        let code = |number: u32| uint(8).lit(number);
        let wrongs = [
            (self.reserved(m, io, &fields), code(job_error::RESERVED)),
            (m.wire("no_matrix", fields.context & fields.matrix.gt(2)), code(job_error::FIELD)),
            (self.wrong_size(m, io, &fields), code(job_error::SIZE)),
        ];
        let wrong = m.wire("wrong_field", select(&wrongs, code(0)));

        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, OPERANDS - 1);
        let second = m.wire("second", list.index_o.eq(1));
        m.connect(list.used_i, !second | !fields.load);
        let places = self.places(m, io, &fields);
        let either = |k: fn(&Place) -> Signal| mux(second, k(&places[1]), k(&places[0]));
        let operand = Operand {
            address: either(|p| p.address),
            row_bytes: either(|p| p.row_bytes),
            rows: either(|p| p.rows),
            stride: either(|p| p.stride),
        };
        list.operand.drive(m, "operand", &operand);
        let begins = m.wire("begins", list.passed_o);
        m.connect(io.begin_o, begins);
        m.connect(io.loads_o, fields.load & !state.is("Idle"));
        self.work(m, io, &fields);

        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, begins);
        let dmas = [(&io.read_command, &io.read_end), (&io.write_command, &io.write_end)];
        for (k, (command, end)) in dmas.into_iter().enumerate() {
            let place = &places[k];
            m.connect(commands.times_i.at(k as u32), if k == 0 { bit().lit(1) } else { !fields.load });
            m.connect(commands.taken_i.at(k as u32), command.fire());
            m.connect(commands.ended_i.at(k as u32), end.fire());
            m.connect(commands.error_i.at(k as u32), end.error);
            m.connect(command.valid, commands.asks_o.at(k as u32));
            m.connect(command.address, place.address.slice(0..self.axi.address_width));
            m.connect(command.row_bytes, place.row_bytes);
            m.connect(command.rows, place.rows);
            m.connect(command.stride, place.stride);
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        let failed = m.wire("failed", commands.error_o.any());
        let done = m.wire("done", commands.done_o & (!fields.load | io.loaded_i));

        let overflowed = m.reg_init("overflowed_q", bit(), 0);
        overflowed.next((overflowed.q | io.overflow_i) & !state.is("Fields"));
        let exact = !fields.load & fields.options.bit(12);
        let overflow = m.wire("overflow", overflowed.q & exact);
        let end = m.reg("end_q", uint(8));
        let ends = [
            (state.is("Fields"), wrong),
            (state.is("Check"), list.error_o),
            (failed, commands.error_o),
            (state.is("Run"), mux(overflow, code(job_error::OVERFLOW), code(0))),
        ];
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
        state.goto("Check", begins, "Run");
        state.goto("Run", failed | done, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

/// Rows of memory.
struct Place {
    address: Signal,
    row_bytes: Signal,
    rows: Signal,
    stride: Signal,
}

impl LinearController {
    fn reserved(&self, m: &mut Module, io: &LinearControllerPorts, fields: &Fields) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let any = |m: &mut Module, name: &str, words: &[Signal]| m.wire(name, cat(words).any());
        let of_load = [fields.options.slice(1..32), word(6), word(7), word(10), word(11), word(12)];
        let loads = any(m, "strange_load", &of_load);
        let place = mux(fields.constants, word(4), word(2)).any();
        let of_product = [fields.options.slice(3..12), fields.options.slice(13..32)];
        let products = any(m, "strange_product", &of_product);
        let column = fields.context & word(4).slice(16..32).any();
        let rest: Vec<Signal> = (13..WORDS).map(word).collect();
        let rest = any(m, "strange_rest", &rest);
        m.wire("reserved", rest | mux(fields.load, loads | place, products | column))
    }

    fn wrong_size(&self, m: &mut Module, io: &LinearControllerPorts, fields: &Fields) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let wide = uint(32);
        let (spec, cells) = (&self.spec, &self.spec.store.tile.cells);
        let (low, high) = (word(4).slice(0..16).extend(32), word(4).slice(16..32).extend(32));
        // Number after the first row, column, tile or constant; nothing where the first one does not exist.
        let behind = |m: &mut Module, name: &str, first: Signal, count: u32, each: u32| {
            let left = mux(first.lt(count), wide.lit(count).wrapping_sub(first), wide.lit(0));
            let left = left.slice(0..bits_for(count.into()));
            m.wire(name, (left * each).extend(64).slice(0..32))
        };
        let inputs = behind(m, "inputs_left", low, spec.store.rows, cells.inputs);
        let outputs = behind(m, "outputs_left", high, spec.store.columns, cells.outputs);
        let channels = behind(m, "channels_left", low, spec.tiles, spec.lanes);
        let first_constant = m.wire("first_constant", mux(fields.load, word(2), word(7)));
        let constants = behind(m, "constants_left", first_constant, spec.constants, 1);
        let tokens = io.context_tokens_i.extend(32);
        // Whether 1 to `most`.
        let wrong = |count: Signal, most: Signal| !count.any() | count.gt(most);

        let (rows, columns, results) = (word(0), word(1), word(2));
        let of_constants = rows.ne(1) | wrong(columns, constants);
        let of_weights = wrong(rows, inputs) | wrong(columns, outputs);
        let most_elements = select(&[(!fields.context, inputs), (fields.values, tokens)], channels);
        let most_results = select(&[(!fields.context, outputs), (fields.values, channels)], tokens);
        let used = mux(fields.options.bit(2), wide.lit(1), results);
        let product = !rows.any()
            | rows.slice(16..32).any()
            | wrong(columns, m.wire("most_elements", most_elements))
            | wrong(results, m.wire("most_results", most_results))
            | wrong(used, constants);
        let loads = mux(fields.constants, of_constants, of_weights);
        m.wire("wrong_size", mux(fields.load, loads, product))
    }

    /// Rows that are read, rows that are written.
    fn places(&self, m: &mut Module, io: &LinearControllerPorts, fields: &Fields) -> [Place; 2] {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let width = self.dma.row_width;
        let bytes = |value: Signal| value.extend(64).slice(0..width);
        let columns = word(1).slice(0..COUNT);
        let read = select(
            &[(fields.constants, bytes(columns.shl(3))), (fields.values, bytes(columns.shl(1)))],
            bytes(columns),
        );
        let results = word(2).slice(0..COUNT);
        let int8 = fields.options.bit(0);
        let written = mux(int8, bytes(results), bytes(results.shl(1)));
        let rows = m.wire("rows", word(0).slice(0..16));
        [
            Place { address: wide(8), row_bytes: m.wire("read_bytes", read), rows, stride: word(5) },
            Place { address: wide(10), row_bytes: m.wire("write_bytes", written), rows, stride: word(6) },
        ]
    }

    fn work(&self, m: &mut Module, io: &LinearControllerPorts, fields: &Fields) {
        let word = |k: u32| io.operation.words.at(k);
        let work = &io.work;
        let fit = |value: Signal, to: Signal| value.slice(0..to.width());
        let first = mux(fields.load, word(2), word(7));
        for (to, from) in [
            (work.constants, fields.constants),
            (work.context, fields.context),
            (work.values, fields.values),
            (work.rows, fit(word(0), work.rows)),
            (work.elements, fit(word(1), work.elements)),
            (work.results, fit(word(2), work.results)),
            (work.first_row, fit(word(4), work.first_row)),
            (work.first_column, fit(word(4).slice(16..32), work.first_column)),
            (work.first_tile, fit(word(4), work.first_tile)),
            (work.first_constant, m.wire("first_of_constants", fit(first, work.first_constant))),
            (work.single, fields.options.bit(2)),
            (work.int8, fields.options.bit(0)),
            (work.relu, fields.options.bit(1)),
        ] {
            m.connect(to, from);
        }
    }
}
