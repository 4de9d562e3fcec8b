//! Turns rows of fp16 into tokens: checks its fields and operands, gives the DMAs their commands, and waits for all of
//! them.

use super::kllm_controller::{CODEBOOK_BYTES, EXACT, HEAD_BYTES, WORDS};
use super::kllm_spec::COUNT;
use super::quantizer_spec::{QuantizeSize, QuantizerSpec};
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::lang::{
    About, Block, In, InStream, InStreams, Module, Out, OutBundle, OutStream, OutStreams, Signal, bit, bits_for, cat,
    mux, parameters, ports, select, uint,
};

/// Read DMAs: codebook, rows.
pub(super) const READERS: u32 = 2;
/// Bit of the options: indices have 3 bits.
const THREE_BITS: u32 = 0;

const STATES: [&str; 5] = ["Idle", "Fields", "Check", "Run", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct QuantizeController {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The quantizer.
        spec: QuantizerSpec = QuantizerSpec::default();
    }
    rules = |p, rules| {
        let longest = u64::from(HEAD_BYTES) + u64::from(2 * p.spec.inner) + u64::from(8 * p.spec.kmax) + 128;
        let least = bits_for(longest);
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

impl QuantizeController {
    fn operands(&self) -> OperandList {
        OperandList::of(READERS + 1, OperandCheck::of(&self.spec.axi, &self.dma))
    }

    fn command_list(&self) -> CommandList {
        CommandList { dmas: READERS + 1, times: 1, commands: self.dma.commands }
    }
}

ports! {
    /// Ports of [`QuantizeController`].
    pub struct QuantizeControllerPorts(p: &QuantizeController) {
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
        /// Its size; valid from begin_o up to the end.
        size: OutBundle<QuantizeSize> = (),
        /// An inlier is infinite or no number.
        overflow_i: In = bit(),
        /// What to read: the codebook, the rows.
        read_command: OutStreams<DmaCommand> = (READERS, (p.spec.axi.clone(), p.dma.clone())),
        /// Ends of the reads.
        read_end: InStreams<DmaCompletion> = (READERS, p.spec.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = (p.spec.axi.clone(), p.dma.clone()),
        /// End of the write.
        write_end: InStream<DmaCompletion> = p.spec.axi.clone(),
    }
}

/// An operand: where it is, how long its rows are, how many, and how far apart.
#[derive(Clone, Copy)]
struct Place {
    address: Signal,
    row_bytes: Signal,
    rows: Signal,
    stride: Signal,
}

impl Block for QuantizeController {
    type Ports = QuantizeControllerPorts;
    const ABOUT: About = About {
        name: "quantize_controller",
        summary: "checks rows that are to become tokens and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_SIZE (9) for a size. Then\n\
            each operand, as operand_check says. Nothing is read or written unless all is right. Then all DMAs are\n\
            asked at once; the first error of one of them or their last end ends the operation. With bit 12 of the\n\
            options, an inlier that is infinite or no number is ERROR_OVERFLOW (14).",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &QuantizeControllerPorts) {
        let state = m.fsm("state", &STATES);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.independent);
        // With several engines, the opcode has chosen this one.
        m.unused(io.operation.opcode);
        let code = |number: u32| uint(8).lit(number);
        let wrongs =
            [(self.reserved(m, io), code(job_error::RESERVED)), (self.wrong_size(m, io), code(job_error::SIZE))];
        let wrong = m.wire("wrong_field", select(&wrongs, code(0)));
        let places = self.places(m, io);

        m.comment("One operand after the other: rows, codebook, tokens.");
        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, READERS);
        m.connect(list.used_i, 1);
        let of = |m: &mut Module, name: &str, value: fn(Place) -> Signal| {
            let values: Vec<Signal> = [1, 0, 2].into_iter().map(|k: usize| value(places[k])).collect();
            m.lookup(name, list.index_o, &values)
        };
        let operand = Operand {
            address: of(m, "operand_address", |p| p.address),
            row_bytes: of(m, "operand_bytes", |p| p.row_bytes),
            rows: of(m, "operand_rows", |p| p.rows),
            stride: of(m, "operand_stride", |p| p.stride),
        };
        crate::lang::Bundle::drive(&list.operand, m, "operand", &operand);
        m.connect(io.begin_o, list.passed_o);

        m.comment("All reads and writes are asked for, and all must end.");
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, list.passed_o);
        for k in 0..=READERS {
            let (command, end) = if k < READERS {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            m.connect(commands.times_i.at(k), 1);
            m.connect(commands.taken_i.at(k), command.fire());
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            m.connect(command.valid, commands.asks_o.at(k));
            let place = places[k as usize];
            m.connect(command.address, place.address.slice(0..self.spec.axi.address_width));
            m.connect(command.row_bytes, place.row_bytes);
            m.connect(command.rows, place.rows);
            m.connect(command.stride, place.stride);
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        let failed = m.wire("failed", commands.error_o.any());
        let overflowed = m.reg_init("overflowed_q", bit(), 0);
        overflowed.next((overflowed.q | io.overflow_i) & !state.is("Fields"));
        let overflow = m.wire("overflow", overflowed.q & io.operation.words.at(2).bit(EXACT));
        let ends = [
            (state.is("Fields"), wrong),
            (state.is("Check"), list.error_o),
            (failed, commands.error_o),
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
        state.goto("Check", list.passed_o, "Run");
        state.goto("Run", failed | overflow | commands.done_o, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

impl QuantizeController {
    fn reserved(&self, m: &mut Module, io: &QuantizeControllerPorts) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let options = word(2);
        let mut strange = vec![options.slice(EXACT + 1..32), options.slice(THREE_BITS + 1..EXACT)];
        strange.extend([6, 7].into_iter().chain(14..WORDS).map(word));
        m.wire("reserved", cat(&strange).any())
    }

    fn wrong_size(&self, m: &mut Module, io: &QuantizeControllerPorts) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let (rows, columns) = (word(0), word(1));
        let (largest, smallest) = (word(3).slice(0..16), word(3).slice(16..32));
        let no_rows = !rows.any() | rows.slice(16..32).any();
        let no_columns = !columns.any() | columns.gt(self.spec.inner);
        let outliers = (largest + smallest).extend(32);
        let many = largest.gt(self.spec.kmax) | smallest.gt(self.spec.kmax) | outliers.gt(columns);
        m.wire("wrong_size", no_rows | no_columns | many)
    }

    /// Codebook, rows and tokens; and the size of the operation.
    fn places(&self, m: &mut Module, io: &QuantizeControllerPorts) -> [Place; 3] {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let width = self.dma.row_width;
        let bytes = |value: Signal| if value.width() > width { value.slice(0..width) } else { value.extend(width) };
        // To the next multiple of 64.
        let whole = |value: Signal| cat(&[value.wrapping_add(63).slice(6..width), uint(6).lit(0)]);
        let columns = word(1).slice(0..COUNT);
        let (largest, smallest) = (word(3).slice(0..16), word(3).slice(16..32));
        let index_bytes = m.wire("index_bytes", whole(bytes(columns.wrapping_add(1).shr(1))));
        let outlier_bytes = m.wire("outlier_bytes", whole(bytes((largest + smallest).shl(2))));
        let token_bytes = index_bytes.wrapping_add(outlier_bytes).wrapping_add(HEAD_BYTES);
        let upwards = |value: Signal, by: u32| value.wrapping_add(by - 1).shr(by.trailing_zeros()).extend(COUNT);
        let beat = self.spec.axi.bytes().trailing_zeros();
        let beats = |bytes: Signal| {
            let beats = bytes.shr(beat);
            if beats.width() > COUNT { beats.slice(0..COUNT) } else { beats.extend(COUNT) }
        };
        let size = &io.size;
        for (to, from) in [
            (size.columns, columns),
            (size.beats, upwards(columns, self.spec.lanes())),
            (size.segments, upwards(columns, self.spec.orizuru)),
            (size.largest, largest),
            (size.smallest, smallest),
            (size.three_bits, word(2).bit(THREE_BITS)),
            (size.index_beats, beats(index_bytes)),
            (size.outlier_beats, beats(outlier_bytes)),
        ] {
            m.connect(to, from);
        }
        let (rows, one, none) = (word(0).slice(0..16), uint(16).lit(1), uint(32).lit(0));
        let place = |address, row_bytes, rows, stride| Place { address, row_bytes, rows, stride };
        let row_bytes = m.wire("row_bytes", bytes(columns.shl(1)));
        [
            place(wide(10), uint(width).lit(CODEBOOK_BYTES), one, none),
            place(wide(8), row_bytes, rows, word(4)),
            place(wide(12), m.wire("token_bytes", token_bytes), rows, word(5)),
        ]
    }
}
