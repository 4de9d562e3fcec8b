//! The engine that packs rows beside products: controller, turn buffer, lanes.

use super::pack_stage::{PackStage, PackStagePorts};
use super::strip_walker::{StripWalker, StripWalkerPorts};
use super::tender_engine::RECORD;
use super::tender_operations::{PackOperation, PackOperationPorts};
use super::tender_results::{PanelEnds, panel_words, records, records_of, words_of};
use super::turn_buffer::TurnBuffer;
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::accelerators::sizes::{fit, groups};
use crate::blocks::common::RamImplementation;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::job_controller::job_error;
use crate::blocks::common::shell::{OperationController, OperationControllerPorts, Own, Place, first_error};
use crate::lang::{About, Block, Bundle, Group, Module, Signal, bit, connect_all, mux, parameters, ports, uint};

/// The DMA that reads rows.
const ROWS: u32 = 1;

parameters! {
    /// Elaboration parameters.
    pub struct PackEngine {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Lanes for the rows of a panel, and for the columns of a cycle.
        stage: PackStage = PackStage::default();
        /// Columns of a strip of rows that the turn buffer holds, twice.
        strip: u32 = 64, in 32..=65504, note "a multiple of 32", tag "p";
        /// Where the turn buffer is kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        rules.part("stage", &p.stage);
        rules.part("stage.group", &records_of(&p.axi, p.stage.group));
        rules.part("stage.group", &words_of(&p.axi, p.stage.lanes()));
        rules.part("stage.group", &p.turn());
        rules.part("strip", &p.walker());
        rules.part("dma", &p.controller());
    };
}

impl PackEngine {
    /// Read DMAs: constants, rows. With two ports they are beside a product's B, and its A.
    pub const READERS: u32 = 2;

    fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }

    fn turn(&self) -> TurnBuffer {
        TurnBuffer {
            banks: self.stage.lanes().max(self.lanes()),
            lanes: self.lanes(),
            columns: self.strip,
            group: self.stage.group,
            storage: self.storage,
        }
    }

    fn walker(&self) -> StripWalker {
        StripWalker { axi: self.axi.clone(), dma: self.dma.clone(), rows: self.stage.rows, turn: self.turn() }
    }

    fn controller(&self) -> OperationController {
        OperationController {
            prepares: true,
            waits: true,
            // The rows. Constants come before them.
            late: 1 << ROWS,
            ..OperationController::of(&self.axi, &self.dma, Self::READERS)
        }
    }
}

ports! {
    /// Ports of [`PackEngine`].
    pub struct PackEnginePorts(p: &PackEngine) {
        /// To the shell. The DMAs read constants and rows. A column of a panel with a result that is saturated or from a
        /// NaN counts as one result that is not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), p.stage.group),
    }
}

impl Block for PackEngine {
    type Ports = PackEnginePorts;
    const ABOUT: About = About {
        name: "pack_engine",
        summary: "packs rows of fp16 numbers into panels of integers, beside products",
        contract: "Rows become panels as pack_operation names their fields; checked and done as operation_controller\n\
            says. With the option exact an overflow ends it with ERROR_OVERFLOW (14).",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &PackEnginePorts) {
        let shell = &io.shell;
        let of = shell.only(m, PackOperation {});
        let controller = shell.controller(m, self.controller());
        m.connect(shell.idle_o, controller.idle_o);
        m.connect(shell.computing_o, 0);
        let strips = m.instance("u_strips", self.walker());
        let stage = m.instance("u_stage", self.stage.clone());
        self.place(m, io, &of, (&controller, &strips));
        let wrong = [
            (of.decoder.reserved, job_error::RESERVED),
            (of.decoder.unknown, job_error::FIELD),
            (of.decoder.wrong_size, job_error::SIZE),
        ];
        m.connect(controller.wrong_i, first_error(&wrong));
        let fail = first_error(&[(controller.overflowed_o & of.exact, job_error::OVERFLOW)]);
        Own { fail, done: !strips.busy_o, ..controller.own() }.connect(m, &controller);
        self.turned(m, io, (&of, controller.begin_o), (&stage, &strips));
        self.constants(m, io, &stage);
        m.connect(stage.clear_i, shell.abort_i);
        m.connect(stage.begin_i, controller.begin_o);
        mode(m, &of, &stage);
        m.connect(controller.overflow_i, stage.overflows_o.any());
        m.connect(shell.overflows_o, stage.overflows_o);
    }
}

impl PackEngine {
    /// Operands and commands: rows, which move in strips, constants, panels.
    fn place(
        &self,
        m: &mut Module,
        io: &PackEnginePorts,
        of: &PackOperationPorts,
        (controller, strips): (&OperationControllerPorts, &StripWalkerPorts),
    ) {
        let (rows, width, abort) = (self.stage.rows, self.dma.row_width, io.shell.abort_i);
        let times = |by: u32| fit(of.columns.shl(by.trailing_zeros()), width);
        let panels = mux(of.int8, groups(of.rows, rows / 2, 16), groups(of.rows, rows, 16));
        let panels = m.wire("panels", panels);
        let place = |address, row_bytes, rows, stride| Place { address, row_bytes, rows, stride };
        let row_bytes = m.wire("row_bytes", times(2));
        let x = place(of.x_address, row_bytes, of.rows, of.x_stride);
        let constants = Place::row(of.constants_address, m.wire("constants_bytes", times(RECORD)));
        let out = place(of.out_address, m.wire("out_bytes", times(rows / 2)), panels, of.out_stride);
        let yes = bit().lit(1);
        for (k, place) in (0..).zip([x, constants, out]) {
            controller.check(m, k, yes, place);
        }
        // Constants are read again for each panel.
        let constants = Place { rows: panels, ..constants };
        for (k, (times, place)) in (0..).zip([(yes, constants), (bit().lit(0), x), (yes, out)]) {
            controller.command(m, k, times, place);
        }
        m.connect(strips.clear_i, abort);
        m.connect(strips.begin_i, controller.begin_o);
        m.connect(strips.matrix.address, of.x_address.slice(0..self.axi.address_width));
        m.connect(strips.matrix.stride, of.x_stride);
        connect_all!(m, strips.matrix, of, [rows, columns]);
        m.connect(strips.matrix.half, of.int8);
        let (read, none) = (io.shell.read_command.at(ROWS), controller.read_command.at(ROWS));
        // As the controller holds its own commands for them. An engine beside others always has the port.
        let released = io.shell.released_i.unwrap_or(yes);
        read.data.drive(m, "rows_command", &strips.command.data);
        m.connect(read.valid, strips.command.valid & released);
        m.connect(strips.command.ready, read.ready & released);
        m.connect(none.ready, 0);
        for unused in [none.valid, none.address, none.row_bytes, none.rows, none.stride] {
            m.unused(unused);
        }
        m.connect_stream(&io.shell.read_command.at(0), &controller.read_command.at(0));
        m.connect_stream(&io.shell.write_command.at(0), &controller.write_command.at(0));
        m.connect(controller.other_taken_i.at(0), 0);
        m.connect(controller.other_taken_i.at(ROWS), read.fire());
        m.connect(controller.other_taken_i.at(2), 0);
    }

    /// Rows go through the turn buffer to the lanes, and as words of panels to memory.
    fn turned(
        &self,
        m: &mut Module,
        io: &PackEnginePorts,
        (of, begin): (&PackOperationPorts, Signal),
        (stage, strips): (&PackStagePorts, &StripWalkerPorts),
    ) {
        let (shell, lanes) = (&io.shell, self.lanes());
        let turn = m.instance("u_turn", self.turn());
        m.connect(turn.clear_i, shell.abort_i);
        m.connect(turn.by_rows_i, 1);
        m.connect_stream(&turn.page, &strips.page);
        let source = shell.read.at(ROWS);
        for unused in [source.bytes, source.row_last, source.last] {
            m.unused(unused);
        }
        m.connect_handshake(&turn.fill, &source);
        let numbers = m.split("row", source.data.data, uint(16).array(lanes));
        m.for_each("fill", lanes, |m, i| m.connect(turn.fill.values.at(i), numbers.at(i)));
        m.for_each("no_fill", self.turn().banks - lanes, |m, i| m.connect(turn.fill.values.at(i + lanes), 0));
        m.connect_handshake(&stage.number, &turn.output);
        m.for_each("number", self.stage.lanes(), |m, i| {
            m.connect(stage.number.values.at(i), turn.output.values.at(i));
        });
        let write = shell.write.at(0);
        let ends = PanelEnds { columns: of.columns, begins: shell.abort_i | begin, moves: stage.result.fire() };
        let integers = (stage.result.values, self.stage.group);
        let words = panel_words(m, (&self.axi, shell.abort_i), integers, of.int8, &ends);
        m.connect_handshake(&words.input, &stage.result);
        m.connect_handshake(&write, &words.output);
        m.connect(write.data.data, words.output.data.data);
    }

    /// Constants of columns for the lanes.
    fn constants(&self, m: &mut Module, io: &PackEnginePorts, stage: &PackStagePorts) {
        let group = self.stage.group;
        let records = records(m, (&self.axi, io.shell.abort_i), &io.shell.read.at(0), group);
        let words = m.split("constants", records.data.data, uint(32).array(3 * group));
        let to = &stage.constants;
        m.connect_handshake(to, &records);
        m.for_each("constants_of", group, |m, g| {
            for (k, to) in [to.scale, to.bias, to.quantizer].into_iter().enumerate() {
                m.connect(to.at(g), words.at(g * 3 + k));
            }
        });
    }
}

/// The mode of the results; it means something while an operation is in hand.
fn mode(m: &mut Module, of: &PackOperationPorts, stage: &PackStagePorts) {
    let to = &stage.mode;
    m.connect_pairs([(to.rows, of.rows), (to.columns, of.columns), (to.int8, of.int8)]);
    m.connect_pairs([(to.unsigned, of.out_unsigned), (to.relu, of.relu)]);
}
