//! Puts a token into panels: checks its fields and operands, gives the DMAs their commands, and waits for all of them.

use super::append_spec::{AppendSize, AppendSpec, LINE};
use super::kllm_controller::{HEAD_BYTES, WORDS};
use super::kllm_spec::COUNT;
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::lang::{
    About, Block, In, InStream, InStreams, Module, Out, OutBundle, OutStream, OutStreams, Signal, bit, bits_for, cat,
    mux, parameters, ports, select, uint,
};

/// Read DMAs: the token; lines of panels with the line of constants or scales.
pub(super) const READERS: u32 = 2;
/// Bit of the options: the token is a position of each channel.
const POSITION: u32 = 0;
/// Bytes of a line.
const LINE_BYTES: u32 = LINE / 8;
/// Token, panels, constants or scales.
const OPERANDS: u32 = 3;

const STATES: [&str; 5] = ["Idle", "Fields", "Check", "Run", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct AppendController {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// The panels.
        spec: AppendSpec = AppendSpec::default();
    }
    rules = |p, rules| {
        let product = &p.spec.product;
        let panel = u64::from(product.depth) * u64::from(product.beat_bytes());
        let least = bits_for(panel.max(8 * u64::from(product.panel())).max(2 * u64::from(product.inner())) + 128);
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

impl AppendController {
    fn operands(&self) -> OperandList {
        OperandList::of(OPERANDS, OperandCheck::of(&self.spec.axi, &self.dma))
    }

    fn command_list(&self) -> CommandList {
        CommandList { dmas: READERS + 1, times: 2, commands: self.dma.commands }
    }
}

ports! {
    /// Ports of [`AppendController`].
    pub struct AppendControllerPorts(p: &AppendController) {
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
        size: OutBundle<AppendSize> = (),
        /// The head does not belong to a token without outliers.
        field_error_i: In = bit(),
        /// What to read: the token, and the lines that change.
        read_command: OutStreams<DmaCommand> = (READERS, (p.spec.axi.clone(), p.dma.clone())),
        /// Ends of the reads.
        read_end: InStreams<DmaCompletion> = (READERS, p.spec.axi.clone()),
        /// Where to write.
        write_command: OutStream<DmaCommand> = (p.spec.axi.clone(), p.dma.clone()),
        /// End of the write.
        write_end: InStream<DmaCompletion> = p.spec.axi.clone(),
    }
}

/// Rows: where they are, how long, how many, and how far apart.
#[derive(Clone, Copy)]
struct Place {
    address: Signal,
    row_bytes: Signal,
    rows: Signal,
    stride: Signal,
}

/// The operands that are checked, and the parts of them that are touched.
struct Places {
    /// Token, panels, constants or scales, up to the part that changes.
    checked: [Place; 3],
    token: Place,
    lines: Place,
    scale_line: Place,
}

impl Block for AppendController {
    type Ports = AppendControllerPorts;
    const ABOUT: About = About {
        name: "append_controller",
        summary: "checks a token that is to be put into panels and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_SIZE (9) for a size. Then\n\
            token, panels, constants or scales, as operand_check says, up to the part that changes. Nothing is read\n\
            or written unless all is right. Then the token and the lines that change are read, and the same lines\n\
            written. The operation ends with the last end of the DMAs, or with the first error: an error of a DMA,\n\
            or ERROR_FIELD (15) for a head with outliers or without a meaning.",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &AppendControllerPorts) {
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

        m.comment("One operand after the other: token, panels, constants or scales.");
        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, OPERANDS - 1);
        m.connect(list.used_i, 1);
        let of = |m: &mut Module, name: &str, value: fn(Place) -> Signal| {
            m.lookup(name, list.index_o, &places.checked.map(value))
        };
        let operand = Operand {
            address: of(m, "operand_address", |p| p.address),
            row_bytes: of(m, "operand_bytes", |p| p.row_bytes),
            rows: of(m, "operand_rows", |p| p.rows),
            stride: of(m, "operand_stride", |p| p.stride),
        };
        crate::lang::Bundle::drive(&list.operand, m, "operand", &operand);
        let begins = list.passed_o;
        m.connect(io.begin_o, begins);

        m.comment("All reads are asked for, and all must end: lines of panels, then the line of constants or scales.");
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, begins);
        for k in 0..=READERS {
            let (command, end) = if k < READERS {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            let taken = m.wire(&format!("taken_{k}"), command.fire());
            m.connect(commands.times_i.at(k), if k == 0 { 1 } else { 2 });
            m.connect(commands.taken_i.at(k), taken);
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            m.connect(command.valid, commands.asks_o.at(k));
            let place = if k == 0 {
                places.token
            } else {
                let given = m.reg_init(&format!("lines_given_{k}_q"), bit(), 0);
                given.next((taken | given.q) & !begins);
                let of = |value: fn(Place) -> Signal| mux(given.q, value(places.scale_line), value(places.lines));
                Place {
                    address: of(|p| p.address),
                    row_bytes: of(|p| p.row_bytes),
                    rows: of(|p| p.rows),
                    stride: of(|p| p.stride),
                }
            };
            m.connect(command.address, place.address.slice(0..self.spec.axi.address_width));
            m.connect(command.row_bytes, place.row_bytes);
            m.connect(command.rows, place.rows);
            m.connect(command.stride, place.stride);
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        let failed = m.wire("failed", commands.error_o.any());
        let wrong_head = m.wire("wrong_head", state.is("Run") & io.field_error_i);
        let ends = [
            (state.is("Fields"), wrong),
            (state.is("Check"), list.error_o),
            (failed, commands.error_o),
            (wrong_head, code(job_error::FIELD)),
            (state.is("Run"), code(0)),
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
        state.goto("Run", failed | wrong_head | commands.done_o, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

impl AppendController {
    fn reserved(&self, m: &mut Module, io: &AppendControllerPorts) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let position = word(2).bit(POSITION);
        // Factors are of channels, a stride is of positions: one channel has one panel.
        let unused = mux(position, cat(&[word(6), word(7)]), word(4).extend(64));
        let mut strange = vec![word(2).slice(POSITION + 1..32), unused];
        strange.extend([3, 5].into_iter().chain(14..WORDS).map(word));
        m.wire("reserved", cat(&strange).any())
    }

    fn wrong_size(&self, m: &mut Module, io: &AppendControllerPorts) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let (number, elements) = (word(0), word(1));
        let product = &self.spec.product;
        let large = mux(word(2).bit(POSITION), number.ge(product.inner()), number.ge(product.panel()));
        m.wire("wrong_size", large | !elements.any() | elements.gt(product.inner()))
    }

    /// The operands, and the size of it all.
    fn places(&self, m: &mut Module, io: &AppendControllerPorts) -> Places {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let width = self.dma.row_width;
        let bytes = |value: Signal| if value.width() > width { value.slice(0..width) } else { value.extend(width) };
        let line = LINE_BYTES.trailing_zeros();
        // To the next multiple of a line, and to the one before.
        let whole = |value: Signal| cat(&[value.wrapping_add(LINE_BYTES - 1).slice(line..width), uint(line).lit(0)]);
        let begin = |value: Signal| cat(&[value.slice(line..width), uint(line).lit(0)]);
        let number = m.wire("number", word(0).slice(0..COUNT));
        let elements = m.wire("elements", word(1).slice(0..COUNT));
        let position = m.wire("is_position", word(2).bit(POSITION));
        for (to, from) in [
            (io.size.number, number),
            (io.size.position, position),
            (io.size.dense, word(6)),
            (io.size.outliers, word(7)),
        ] {
            m.connect(to, from);
        }
        let product = &self.spec.product;
        let (inputs, panel, beat) = (product.inputs, product.panel(), product.beat_bytes());
        let shift = |by: u32| by.trailing_zeros();
        let upwards = |by: u32| elements.wrapping_add(by - 1).shr(shift(by)).extend(COUNT).slice(0..16);
        let beats = m.wire("beats", upwards(inputs));
        let panels = m.wire("panels", upwards(panel));
        let times_beat = |value: Signal| bytes(value.extend(32)).shl(shift(beat)).slice(0..width);
        let ahead = m.wire("beats_ahead", times_beat(number.shr(shift(inputs)).extend(COUNT)));
        // A nibble for each position: half as many bytes.
        let in_beat = m.wire("in_beat", begin(bytes(number.shl(shift(inputs)).shr(1))));
        let each = m.wire("scale_at", mux(position, bytes(number.shl(1)), bytes(number.shl(3))));
        let scale_bytes = m.wire("scale_bytes", whole(each.wrapping_add(1)));
        let index_bytes = whole(bytes(elements.wrapping_add(1).shr(1)));
        let token_bytes = m.wire("token_bytes", index_bytes.wrapping_add(HEAD_BYTES));
        let (one, none) = (uint(16).lit(1), uint(32).lit(0));
        let row = |address, row_bytes| Place { address, row_bytes, rows: one, stride: none };
        let one_beat = uint(width).lit(beat);
        let all_beats = m.wire("all_beats", times_beat(beats.extend(COUNT)));
        let token = row(wide(8), token_bytes);
        let rows = m.wire("panel_rows", mux(position, panels, one));
        let panel_bytes = m.wire("panel_bytes", mux(position, ahead.wrapping_add(beat), all_beats));
        let panel = Place { address: wide(10), row_bytes: panel_bytes, rows, stride: word(4) };
        let first = m.wire("first_line", mux(position, ahead, in_beat));
        Places {
            checked: [token, panel, row(wide(12), scale_bytes)],
            token,
            lines: Place {
                address: m.wire("lines_address", wide(10).wrapping_add(first.extend(64))),
                row_bytes: mux(position, one_beat, uint(width).lit(LINE_BYTES)),
                rows: m.wire("lines_rows", mux(position, panels, beats)),
                stride: mux(position, word(4), uint(32).lit(beat)),
            },
            scale_line: row(
                m.wire("scale_address", wide(12).wrapping_add(begin(each).extend(64))),
                uint(width).lit(LINE_BYTES),
            ),
        }
    }
}
