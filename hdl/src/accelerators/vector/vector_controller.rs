//! Does one operation: checks its fields and operands, gives the DMAs their commands, and waits for all of them.

use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::row::{NormKind, RowUnits, VectorSteps};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutBundle, OutOption, OutStream, OutStreams, Signal,
    bit, bits_for, cat, mux, parameters, ports, select, uint,
};

/// Operands that are read: elements, addends, factors, gains.
pub(super) const READERS: u32 = 4;

/// Words of an operation: a descriptor of 128 bytes without its header.
const WORDS: u32 = 24;

const STATES: [&str; 5] = ["Idle", "Fields", "Check", "Run", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct VectorController {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Elements of the longest row.
        max_columns: u32 = 512, in 1..=4_194_304, tag "c";
        /// Functions for whole rows.
        units: RowUnits = RowUnits::default();
    }
    rules = |p, rules| {
        // The gains of a layer norm are pairs.
        let bytes = if p.units.layer_norm { 4 } else { 2 };
        let least = bits_for(bytes * u64::from(p.max_columns));
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

impl VectorController {
    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }

    fn operands(&self) -> OperandList {
        OperandList::of(READERS + 1, OperandCheck::of(&self.axi, &self.dma))
    }

    fn command_list(&self) -> CommandList {
        CommandList { dmas: READERS + 1, times: 1, commands: self.dma.commands }
    }

    /// Bits of the elements that count in a softmax, where there is one.
    pub(super) fn length_width(&self) -> u32 {
        bits_for(self.max_columns.into())
    }
}

ports! {
    /// Ports of [`VectorController`].
    pub struct VectorControllerPorts(p: &VectorController) {
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
        /// To the lanes; means something while an operation is in hand.
        steps: OutBundle<VectorSteps> = p.units.clone(),
        /// Elements of the first row that count in a softmax; as steps.
        length_o: OutOption = uint(p.length_width()).when(p.units.softmax),
        /// In each further row one more counts; as steps.
        causal_o: OutOption = bit().when(p.units.softmax),
        /// Gains come as pairs with biases; as steps.
        pairs_o: OutOption = bit().when(p.units.layer_norm),
        /// For one cycle: an operation that is right begins.
        begin_o: Out = bit(),
        /// A beat of results in which an element overflowed.
        overflow_i: In = bit(),
        /// What to read: elements, addends, factors, gains.
        read_command: OutStreams<DmaCommand> = (READERS, p.commands()),
        /// Ends of the reads.
        read_end: InStreams<DmaCompletion> = (READERS, p.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = p.commands(),
        /// End of the write.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

/// An operation's fields.
struct Fields {
    rows: Signal,
    columns: Signal,
    steps: Signal,
    length: Signal,
    exact: Signal,
    reserved: Signal,
    /// Kinds of norms.
    softmax: Signal,
    layer: Signal,
    /// Addresses and strides: elements, addends, factors, gains, results.
    places: Vec<(Signal, Signal)>,
    /// Which of these are used.
    used: Vec<Signal>,
}

impl Fields {
    fn new(m: &mut Module, io: &VectorControllerPorts) -> Self {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let steps = word(2);
        let (norm, gain, rotate, causal) = (steps.bit(4), steps.bit(5), steps.bit(10), steps.bit(11));
        let kind = steps.slice(6..8);
        let softmax = m.wire("softmax", norm & kind.eq(NormKind::Softmax as u32));
        let layer = m.wire("layer_norm", norm & kind.eq(NormKind::Layer as u32));
        let length = word(20);
        let high = cat(&[steps.slice(13..32), word(5).slice(8..32)]);
        let tail = cat(&[word(21), word(22), word(23)]);
        let without_norm = !norm & (gain | kind.any());
        let without_softmax = !softmax & (causal | length.any());
        let together = (softmax & (gain | rotate)) | (rotate & steps.bit(3));
        let reserved = m.wire("reserved", high.any() | tail.any() | without_norm | without_softmax | together);
        let places = vec![
            (wide(8), word(6)),
            (wide(10), word(7)),
            (wide(12), word(14)),
            (wide(16), uint(32).lit(0)),
            (wide(18), word(15)),
        ];
        let one = bit().lit(1);
        let used = vec![one, steps.bit(1), steps.bit(3) | rotate, gain, one];
        let exact = steps.bit(12);
        Self { rows: word(0), columns: word(1), steps, length, exact, reserved, softmax, layer, places, used }
    }

    fn format(&self) -> Signal {
        self.steps.slice(8..10)
    }

    fn rotate(&self) -> Signal {
        self.steps.bit(10)
    }
}

impl Block for VectorController {
    type Ports = VectorControllerPorts;
    const ABOUT: About = About {
        name: "vector_controller",
        summary: "checks an operation of the vector accelerator and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_FIELD (15) for a format or a\n\
            step that does not exist, ERROR_SIZE (9) for a size. Then each operand that is used, as operand_check\n\
            says. Nothing is read or written unless all is right. Then all DMAs are asked at once. The first error\n\
            of one of them, or their last end, ends the operation. With bit 12 of the steps, an overflow is\n\
            ERROR_OVERFLOW (14).",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &VectorControllerPorts) {
        let state = m.fsm("state", &STATES);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.opcode);
        m.unused(io.operation.independent);
        let fields = Fields::new(m, io);
        self.steps(m, io, &fields);
        let code = |number: u32| uint(8).lit(number);

        let wrongs = [
            (fields.reserved, code(job_error::RESERVED)),
            (self.lacks(m, &fields), code(job_error::FIELD)),
            (self.wrong_size(m, &fields), code(job_error::SIZE)),
        ];
        let wrong = m.wire("wrong_field", select(&wrongs, code(0)));

        m.comment("One operand after the other.");
        let last = READERS;
        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, READERS);
        let of = |m: &mut Module, name: &str, values: Vec<Signal>| m.lookup(name, list.index_o, &values);
        let (addresses, strides): (Vec<_>, Vec<_>) = fields.places.iter().copied().unzip();
        let address = of(m, "operand_address", addresses);
        let stride = of(m, "operand_stride", strides);
        let used = of(m, "operand_used", fields.used.clone());
        m.connect(list.used_i, used);
        let wide = self.dma.row_width;
        let columns = m.wire("columns", fields.columns.slice(0..wide - 1));
        let read_bytes = m.wire("read_bytes", columns.shl(1));
        let gain_bytes = if self.units.layer_norm {
            mux(fields.layer, read_bytes.shl(1).truncate(wide), read_bytes)
        } else {
            read_bytes
        };
        let nibbles = (columns + 1).slice(1..wide).extend(wide);
        let formats = [(fields.format().eq(1), columns.extend(wide)), (fields.format().eq(2), nibbles)];
        let write_bytes = m.wire("write_bytes", select(&formats, read_bytes));
        let bytes = [read_bytes, read_bytes, read_bytes, m.wire("gain_bytes", gain_bytes), write_bytes];
        let rows = fields.rows.slice(0..16);
        let row_bytes = of(m, "operand_bytes", bytes.to_vec());
        let operand = Operand { address, row_bytes, rows, stride };
        list.operand.drive(m, "operand", &operand);
        let checked = list.passed_o;
        m.connect(io.begin_o, checked);

        m.comment("All operands in use are asked for, and all must end.");
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, checked);
        for k in 0..=last {
            let (command, end) = if k < last {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            m.connect(commands.times_i.at(k), fields.used[k as usize]);
            m.connect(commands.taken_i.at(k), command.fire());
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            m.connect(command.valid, commands.asks_o.at(k));
            m.connect(end.ready, 1);
            let (address, stride) = fields.places[k as usize];
            m.connect(command.address, address.slice(0..self.axi.address_width));
            m.connect(command.row_bytes, bytes[k as usize]);
            m.connect(command.rows, rows);
            m.connect(command.stride, stride);
            m.unused(end.address);
        }
        let everything_ended = m.wire("everything_ended", commands.done_o);
        let failed = m.wire("failed", commands.error_o.any());

        let overflowed = m.reg_init("overflowed_q", bit(), 0);
        overflowed.next((overflowed.q | io.overflow_i) & !state.is("Fields"));
        let end = m.reg("end_q", uint(8));
        let overflow = overflowed.q & fields.exact;
        end.next(select(
            &[
                (state.is("Fields"), wrong),
                (state.is("Check"), list.error_o),
                (failed, commands.error_o),
                (state.is("Run"), mux(overflow, code(job_error::OVERFLOW), code(0))),
            ],
            end.q,
        ));
        m.connect(io.operation_end.valid, state.is("Tell"));
        m.connect(io.operation_end.error, end.q);

        for from in STATES {
            state.goto(from, io.abort_i, "Idle");
        }
        state.goto("Idle", io.operation.valid, "Fields");
        state.goto("Fields", wrong.any(), "Tell");
        state.goto("Fields", true, "Check");
        state.goto("Check", list.error_o.any(), "Tell");
        state.goto("Check", checked, "Run");
        state.goto("Run", failed | overflow | everything_ended, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

impl VectorController {
    /// It asks for functions that do not exist.
    fn lacks(&self, m: &mut Module, fields: &Fields) -> Signal {
        let kind_3 = fields.steps.bit(4) & fields.steps.slice(6..8).eq(3);
        let lacking = [
            (self.units.softmax, fields.softmax),
            (self.units.layer_norm, fields.layer),
            (self.units.rotary, fields.rotate()),
        ];
        let lacking = lacking.into_iter().filter(|(there, _)| !there).map(|(_, asked)| asked);
        m.wire("lacks", lacking.fold(fields.format().eq(3) | kind_3, |a, b| a | b))
    }

    fn wrong_size(&self, m: &mut Module, fields: &Fields) -> Signal {
        let no_rows = m.wire("no_rows", !fields.rows.any() | fields.rows.slice(16..32).any());
        let no_columns = m.wire("no_columns", !fields.columns.any() | fields.columns.gt(self.max_columns));
        let mut wrong = no_rows | no_columns;
        if self.units.rotary {
            wrong = wrong | (fields.rotate() & fields.columns.bit(0));
        }
        if self.units.softmax {
            let no_length = m.wire("no_length", !fields.length.any() | fields.length.gt(fields.columns));
            wrong = wrong | (fields.softmax & no_length);
        }
        m.wire("wrong_size", wrong)
    }

    fn steps(&self, m: &mut Module, io: &VectorControllerPorts, fields: &Fields) {
        let (steps, to) = (fields.steps, &io.steps);
        let word = |k: u32| io.operation.words.at(k);
        for (port, value) in [
            (to.scale, steps.bit(0)),
            (to.add, steps.bit(1)),
            (to.activate, steps.bit(2)),
            (to.multiply, steps.bit(3)),
            (to.norm, steps.bit(4)),
            (to.gain, steps.bit(5)),
            (to.format, fields.format()),
            (to.scale_factor, word(3).slice(0..16)),
            (to.quantizer, word(3).slice(16..32)),
            (to.epsilon, cat(&[word(5).slice(0..8), word(4)])),
        ] {
            m.connect(port, value);
        }
        let optional = [
            (to.rotate, fields.rotate()),
            (to.kind, steps.slice(6..8)),
            (io.length_o, fields.length.slice(0..self.length_width())),
            (io.causal_o, steps.bit(11)),
            (io.pairs_o, fields.layer),
        ];
        for (port, value) in optional {
            if let Some(port) = port {
                m.connect(port, value);
            }
        }
    }
}
