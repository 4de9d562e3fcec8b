//! Does one operation: checks its fields and operands, has the DMAs move them, and waits for all of them.

use crate::blocks::common::bus::dma::dma_error;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::row::VectorSteps;
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{Operand, OperandCheck, Operation, OperationEnd};
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutBundle, OutStream, OutStreams, Signal, Timing, bit,
    bits_for, cat, index_width, mux, parameters, ports, select, uint,
};

/// Operands that are read: elements, addends, factors, gains.
pub(super) const READERS: u32 = 4;

/// Words of an operation: a descriptor of 128 bytes without its header.
const WORDS: u32 = 24;

parameters! {
    /// Elaboration parameters.
    pub struct VectorController {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Elements of the longest row.
        max_columns: u32 = 512, in 1..=4_194_304, tag "c";
    }
    rules = |p, rules| {
        let least = bits_for(2 * u64::from(p.max_columns));
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

impl VectorController {
    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }

    fn check(&self) -> OperandCheck {
        OperandCheck {
            address_width: self.axi.address_width,
            row_width: self.dma.row_width,
            rows_width: self.dma.rows_width,
            stride_width: self.dma.stride_width,
        }
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
        steps: OutBundle<VectorSteps> = (),
        /// A beat of results in which an element overflowed.
        overflow_i: In = bit(),
        /// What to read: elements, addends, factors, gains.
        read_command: OutStreams<DmaCommand> = (READERS, p.commands()),
        /// Ends of that.
        read_end: InStreams<DmaCompletion> = (READERS, p.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = p.commands(),
        /// End of that.
        write_end: InStream<DmaCompletion> = p.axi.clone(),
    }
}

/// An operation's fields.
struct Fields {
    rows: Signal,
    columns: Signal,
    steps: Signal,
    exact: Signal,
    reserved: Signal,
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
        let (norm, gain) = (steps.bit(4), steps.bit(5));
        let high = cat(&[steps.slice(13..32), steps.slice(10..12), steps.slice(6..8), word(5).slice(8..32)]);
        let tail = cat(&[word(20), word(21), word(22), word(23)]);
        let reserved = m.wire("reserved", high.any() | tail.any() | (gain & !norm));
        let places = vec![
            (wide(8), word(6)),
            (wide(10), word(7)),
            (wide(12), word(14)),
            (wide(16), uint(32).lit(0)),
            (wide(18), word(15)),
        ];
        let one = bit().lit(1);
        let used = vec![one, steps.bit(1), steps.bit(3), gain, one];
        Self { rows: word(0), columns: word(1), steps, exact: steps.bit(12), reserved, places, used }
    }

    fn format(&self) -> Signal {
        self.steps.slice(8..10)
    }
}

impl Block for VectorController {
    type Ports = VectorControllerPorts;
    const ABOUT: About = About {
        name: "vector_controller",
        summary: "checks an operation of the vector accelerator and has it done",
        contract: "Fields first: 5 for one that must be 0, 15 for a format that is none, 9 for a size; then each operand that is used, as\n\
            operand_check says. Nothing is read or written unless all is right. Then all DMAs are asked at once; the first error of one of\n\
            them, or their last end, ends the operation. With bit 12 of the steps, an overflow is error 14.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &VectorControllerPorts) {
        let state = m.fsm("state", &["Idle", "Fields", "Ask", "Verdict", "Issue", "Run", "Tell"]);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.opcode);
        m.unused(io.operation.independent);
        let fields = Fields::new(m, io);
        self.steps(m, io, &fields);
        let code = |number: u32| uint(8).lit(number);

        let no_rows = m.wire("no_rows", !fields.rows.any() | fields.rows.slice(16..32).any());
        let no_columns = m.wire("no_columns", !fields.columns.any() | fields.columns.gt(self.max_columns));
        let wrong = m.wire(
            "wrong_field",
            select(
                &[
                    (fields.reserved, code(job_error::RESERVED)),
                    (fields.format().eq(3), code(job_error::FIELD)),
                    (no_rows | no_columns, code(job_error::SIZE)),
                ],
                code(0),
            ),
        );

        m.comment("One operand after the other.");
        let last = READERS;
        let at_ty = uint(index_width((last + 1).into()));
        let at = m.reg("operand_q", at_ty);
        let check = m.instance("u_check", self.check());
        m.connect(check.clear_i, io.abort_i);
        m.connect(check.window_base_i, io.window_base_i);
        m.connect(check.window_limit_i, io.window_limit_i);
        let of = |m: &mut Module, name: &str, values: Vec<Signal>| m.lookup(name, at.q, &values);
        let (addresses, strides): (Vec<_>, Vec<_>) = fields.places.iter().copied().unzip();
        let address = of(m, "operand_address", addresses);
        let stride = of(m, "operand_stride", strides);
        let used = of(m, "operand_used", fields.used.clone());
        let wide = self.dma.row_width;
        let columns = m.wire("columns", fields.columns.slice(0..wide - 1));
        let read_bytes = m.wire("read_bytes", columns.shl(1));
        let nibbles = (columns + 1).slice(1..wide).extend(wide);
        let formats = [(fields.format().eq(1), columns.extend(wide)), (fields.format().eq(2), nibbles)];
        let write_bytes = m.wire("write_bytes", select(&formats, read_bytes));
        let bytes = mux(at.q.eq(last), write_bytes, read_bytes);
        let rows = fields.rows.slice(0..16);
        let operand = Operand { address, row_bytes: m.wire("operand_bytes", bytes), rows, stride };
        m.connect(check.operand.valid, state.is("Ask") & used);
        check.operand.data.drive(m, "operand", &operand);
        m.connect(check.verdict.ready, state.is("Verdict"));
        let judged = m.wire("judged", check.verdict.fire());
        let passes = m.wire("passes", (state.is("Ask") & !used) | (judged & !check.verdict.error.any()));
        let step = mux(state.is("Fields"), at_ty.lit(0), mux(passes, at.q.wrapping_add(1), at.q));
        at.next(step);
        let checked = m.wire("checked", passes & at.q.eq(last));

        m.comment("All that is used is asked for, and all of that has to end.");
        let issues = state.is("Issue");
        let begins = m.wire("begins", checked);
        let mut asked = Vec::new();
        let mut ended = Vec::new();
        let mut errors = Vec::new();
        for k in 0..=last {
            let (command, end) = if k < last {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            let to_ask = m.reg_init(&format!("asks_{k}_q"), bit(), 0);
            let to_end = m.reg_init(&format!("ends_{k}_q"), bit(), 0);
            let used = fields.used[k as usize];
            to_ask.next(((begins & used) | (to_ask.q & !command.ready)) & !io.abort_i);
            to_end.next(((begins & used) | (to_end.q & !end.valid)) & !io.abort_i);
            m.connect(command.valid, to_ask.q);
            m.connect(end.ready, to_end.q);
            let (address, stride) = fields.places[k as usize];
            m.connect(command.address, address.slice(0..self.axi.address_width));
            m.connect(command.row_bytes, if k < last { read_bytes } else { write_bytes });
            m.connect(command.rows, rows);
            m.connect(command.stride, stride);
            m.unused(end.address);
            asked.push(!to_ask.q);
            ended.push(!to_end.q);
            errors.push((end.fire() & end.error.any(), end.error));
        }
        let all = |signals: &[Signal]| signals.iter().copied().reduce(|a, b| a & b).unwrap_or(bit().lit(1));
        let everything_asked = m.wire("everything_asked", all(&asked));
        let everything_ended = m.wire("everything_ended", all(&ended));
        let fault = m.wire("fault", select(&errors, uint(3).lit(dma_error::NONE)));
        let failed = m.wire("failed", fault.any());

        let overflowed = m.reg_init("overflowed_q", bit(), 0);
        overflowed.next((overflowed.q | io.overflow_i) & !state.is("Fields"));
        let bus = select(
            &[
                (fault.eq(dma_error::SLVERR), code(job_error::SLVERR)),
                (fault.eq(dma_error::DECERR), code(job_error::DECERR)),
            ],
            // The DMAs refuse nothing that was checked here.
            code(job_error::WINDOW),
        );
        let end = m.reg("end_q", uint(8));
        let overflow = overflowed.q & fields.exact;
        end.next(select(
            &[
                (state.is("Fields"), wrong),
                (judged, check.verdict.error),
                (failed, bus),
                (state.is("Run"), mux(overflow, code(job_error::OVERFLOW), code(0))),
            ],
            end.q,
        ));
        m.connect(io.operation_end.valid, state.is("Tell"));
        m.connect(io.operation_end.error, end.q);

        for from in ["Idle", "Fields", "Ask", "Verdict", "Issue", "Run", "Tell"] {
            state.goto(from, io.abort_i, "Idle");
        }
        state.goto("Idle", io.operation.valid, "Fields");
        state.goto("Fields", wrong.any(), "Tell");
        state.goto("Fields", true, "Ask");
        state.goto("Ask", used & check.operand.ready, "Verdict");
        state.goto("Ask", checked, "Issue");
        state.goto("Verdict", judged & check.verdict.error.any(), "Tell");
        state.goto("Verdict", checked, "Issue");
        state.goto("Verdict", judged, "Ask");
        state.goto("Issue", failed, "Tell");
        state.goto("Issue", everything_asked, "Run");
        state.goto("Run", failed | everything_ended, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
        m.unused(issues);
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}

impl VectorController {
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
    }
}
