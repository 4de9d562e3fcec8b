//! Checks a product of a linear layer, gives the DMAs their commands, and waits for all of them.

use super::kelle_spec::KelleSpec;
use super::product_walk::{ProductSize, ProductWalk};
use crate::blocks::common::bus::{DmaCommand, DmaCompletion, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{CommandList, Operand, OperandCheck, OperandList, Operation, OperationEnd};
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutBundle, OutStream, OutStreams, Signal, bit,
    bits_for, cat, mux, parameters, ports, select, uint,
};

/// Read DMAs: rows, panels, constants.
pub(super) const READERS: u32 = 3;
/// Words of an operation: a descriptor of 128 bytes without its header.
pub(super) const WORDS: u32 = 24;
/// Bit of the options: an inexact number is an error.
pub(super) const EXACT: u32 = 12;

const STATES: [&str; 5] = ["Idle", "Fields", "Check", "Run", "Tell"];

parameters! {
    /// Elaboration parameters.
    pub struct LinearController {
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Sizes.
        spec: KelleSpec = KelleSpec::default();
    }
    rules = |p, rules| {
        let least = bits_for(u64::from(p.spec.inner) * u64::from(p.spec.panel())).max(20);
        rules.demand(p.dma.row_width >= least, "dma.row_width", p.dma.row_width, format!("at least {least}"));
        rules.demand(p.dma.rows_width == 16, "dma.rows_width", p.dma.rows_width, "16");
        rules.demand(p.dma.stride_width == 32, "dma.stride_width", p.dma.stride_width, "32");
    };
}

impl LinearController {
    fn operands(&self) -> OperandList {
        OperandList::of(READERS + 1, OperandCheck::of(&self.spec.axi, &self.dma))
    }

    /// The unit that leads the array.
    pub(super) fn walk(&self) -> ProductWalk {
        let (spec, vectors, tiles) = (self.spec.clone(), self.spec.tokens, self.spec.tiles());
        ProductWalk { spec, attention: false, vectors, tiles }
    }

    fn command_list(&self) -> CommandList {
        CommandList { dmas: READERS + 1, times: 65535, commands: self.dma.commands }
    }
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
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = WORDS,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// For one cycle: an operation that is right begins.
        begin_o: Out = bit(),
        /// Its size; valid from begin_o up to the end.
        size: OutBundle<ProductSize> = p.walk(),
        /// Columns; valid as size.
        columns_o: Out = uint(16),
        /// fp32; valid as size.
        quantizer_o: Out = uint(32),
        /// A number was saturated, is infinite or no number.
        inexact_i: In = bit(),
        /// What to read: rows, panels, constants.
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

impl Block for LinearController {
    type Ports = LinearControllerPorts;
    const ABOUT: About = About {
        name: "linear_controller",
        summary: "checks a product of a linear layer and has it done",
        contract: "Fields first: ERROR_RESERVED (5) for a field that must be 0, ERROR_SIZE (9) for a size. Then\n\
            rows, panels, constants, results, as operand_check says. Nothing is read or written unless all is\n\
            right. Then all is asked for, results panel by panel. The first error of a DMA, or the last end, ends\n\
            the operation. With bit 12 of the options, a number that is not exact is ERROR_OVERFLOW (14).",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &LinearControllerPorts) {
        let state = m.fsm("state", &STATES);
        m.connect(io.idle_o, state.is("Idle"));
        m.connect(io.operation.ready, state.is("Idle") & !io.abort_i);
        m.unused(io.operation.independent);
        // With several engines, the opcode has chosen this one.
        m.unused(io.operation.opcode);
        let code = |number: u32| uint(8).lit(number);
        let word = |k: u32| io.operation.words.at(k);
        let wrongs =
            [(self.reserved(m, io), code(job_error::RESERVED)), (self.wrong_size(m, io), code(job_error::SIZE))];
        let wrong = m.wire("wrong_field", select(&wrongs, code(0)));
        let places = self.places(m, io);

        m.comment("One operand after the other: rows, panels, constants, results.");
        let list = m.instance("u_operands", self.operands());
        m.connect(list.clear_i, io.abort_i);
        m.connect(list.window_base_i, io.window_base_i);
        m.connect(list.window_limit_i, io.window_limit_i);
        m.connect(list.start_i, state.is("Fields") & !wrong.any());
        m.connect(list.last_i, READERS);
        m.connect(list.used_i, 1);
        let of =
            |m: &mut Module, name: &str, value: fn(Place) -> Signal| m.lookup(name, list.index_o, &places.map(value));
        let operand = Operand {
            address: of(m, "operand_address", |p| p.address),
            row_bytes: of(m, "operand_bytes", |p| p.row_bytes),
            rows: of(m, "operand_rows", |p| p.rows),
            stride: of(m, "operand_stride", |p| p.stride),
        };
        list.operand.drive(m, "operand", &operand);
        let begins = list.passed_o;
        m.connect(io.begin_o, begins);
        m.connect(io.quantizer_o, word(4));

        m.comment("All reads and writes are asked for, and all must end; results are a command for each panel.");
        let commands = m.instance("u_commands", self.command_list());
        m.connect(commands.clear_i, io.abort_i);
        m.connect(commands.begin_i, begins);
        let panel = self.spec.panel();
        let (at, left) = (m.reg("panel_address_q", uint(64)), m.reg("panel_left_q", uint(16)));
        for k in 0..=READERS {
            let (command, end) = if k < READERS {
                (io.read_command.at(k), io.read_end.at(k))
            } else {
                (io.write_command.clone(), io.write_end.clone())
            };
            let taken = m.wire(&format!("taken_{k}"), command.fire());
            let mut place = places[k as usize];
            let mut times = uint(16).lit(1);
            if k == READERS {
                times = places[1].rows;
                at.next(mux(begins, place.address, mux(taken, at.q.wrapping_add(2 * panel), at.q)));
                left.next(mux(begins, word(1).slice(0..16), mux(taken, left.q.wrapping_sub(panel), left.q)));
                let columns = m.wire("panel_columns", mux(left.q.gt(panel), uint(16).lit(panel), left.q));
                place.address = at.q;
                place.row_bytes = columns.shl(1).extend(self.dma.row_width);
            }
            m.connect(commands.times_i.at(k), times);
            m.connect(commands.taken_i.at(k), taken);
            m.connect(commands.ended_i.at(k), end.fire());
            m.connect(commands.error_i.at(k), end.error);
            m.connect(command.valid, commands.asks_o.at(k));
            m.connect(command.address, place.address.slice(0..self.spec.axi.address_width));
            m.connect(command.row_bytes, place.row_bytes);
            m.connect(command.rows, place.rows);
            m.connect(command.stride, place.stride);
            m.connect(end.ready, 1);
            m.unused(end.address);
        }
        let failed = m.wire("failed", commands.error_o.any());

        let inexact = m.reg_init("inexact_q", bit(), 0);
        inexact.next((inexact.q | io.inexact_i) & !state.is("Fields"));
        let refused = m.wire("refused", inexact.q & word(3).bit(EXACT));
        let ends = [
            (state.is("Fields"), wrong),
            (state.is("Check"), list.error_o),
            (failed, commands.error_o),
            (state.is("Run"), mux(refused, code(job_error::OVERFLOW), code(0))),
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
        state.goto("Check", begins, "Run");
        state.goto("Run", failed | refused | commands.done_o, "Tell");
        state.goto("Tell", io.operation_end.ready, "Idle");
    }
}

impl LinearController {
    fn reserved(&self, m: &mut Module, io: &LinearControllerPorts) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let mut strange = vec![word(3).slice(0..EXACT), word(3).slice(EXACT + 1..32)];
        strange.extend((16..WORDS).map(word));
        m.wire("reserved", cat(&strange).any())
    }

    fn wrong_size(&self, m: &mut Module, io: &LinearControllerPorts) -> Signal {
        let word = |k: u32| io.operation.words.at(k);
        let (rows, columns, channels) = (word(0), word(1), word(2));
        let none = !rows.any() | !columns.any() | !channels.any();
        let large = rows.gt(self.spec.tokens) | columns.slice(16..32).any() | channels.gt(self.spec.inner);
        m.wire("wrong_size", none | large)
    }

    /// Rows, panels, constants, results; and the size of the operation.
    fn places(&self, m: &mut Module, io: &LinearControllerPorts) -> [Place; 4] {
        let word = |k: u32| io.operation.words.at(k);
        let wide = |k: u32| cat(&[word(k + 1), word(k)]);
        let width = self.dma.row_width;
        let bytes = |value: Signal| if value.width() > width { value.slice(0..width) } else { value.extend(width) };
        let (rows, columns) = (word(0).slice(0..16), word(1).slice(0..16));
        let channels = word(2).slice(0..16);
        let upwards = |value: Signal, by: u32| -> Signal {
            let value = value.extend(17).wrapping_add(by - 1);
            value.shr(by.trailing_zeros()).extend(17).slice(0..16)
        };
        let panels = m.wire("panels", upwards(columns, self.spec.panel()));
        let tiles = m.wire("tiles", upwards(channels, self.spec.rows));
        let low = self.spec.rows.trailing_zeros();
        let over = channels.slice(0..low);
        let rest_ty = io.size.rest.ty();
        let rest = mux(over.any(), over.extend(rest_ty.width), rest_ty.lit(self.spec.rows));
        for (to, from) in [
            (io.size.vectors, rows.slice(0..io.size.vectors.width())),
            (io.columns_o, columns),
            (io.size.groups, upwards(columns, self.spec.columns)),
            (io.size.tiles, tiles.slice(0..io.size.tiles.width())),
            (io.size.rest, rest),
        ] {
            m.connect(to, from);
        }
        let (one, none) = (uint(16).lit(1), uint(32).lit(0));
        let panel = self.spec.panel().trailing_zeros();
        let x_bytes = m.wire("x_bytes", bytes(channels.shl(1)));
        let panel_bytes = m.wire("panel_bytes", bytes(channels.shl(panel)));
        let constants_bytes = m.wire("constants_bytes", bytes(columns.shl(3)));
        let result_bytes = m.wire("result_bytes", bytes(columns.shl(1)));
        [
            Place { address: wide(8), row_bytes: x_bytes, rows, stride: word(5) },
            Place { address: wide(10), row_bytes: panel_bytes, rows: panels, stride: word(6) },
            Place { address: wide(12), row_bytes: constants_bytes, rows: one, stride: none },
            Place { address: wide(14), row_bytes: result_bytes, rows, stride: word(7) },
        ]
    }
}
