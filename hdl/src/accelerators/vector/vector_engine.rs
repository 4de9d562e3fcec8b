//! What works between the shell's streams: controller, lanes, packer.

use super::row_packer::RowPacker;
use super::vector_controller::{READERS, VectorController};
use crate::blocks::common::VectorUnit;
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::row::{RequantizeLane, VectorLane};
use crate::blocks::common::shell::{EventCounters, Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, Timing, bit, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct VectorEngine {
        /// The bus as a DMA sees it; a beat holds as many elements as there are lanes, 16 bits each.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Beats of the longest row.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// The steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last one.
        requantize: RequantizeLane = RequantizeLane::default();
    }
    rules = |p, rules| {
        rules.part("max_beats", &p.unit());
        rules.part("dma", &p.controller());
    };
}

impl VectorEngine {
    /// Elements of a beat.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }

    /// Elements of the longest row.
    #[must_use]
    pub fn max_columns(&self) -> u32 {
        self.lanes() * self.max_beats
    }

    /// The lanes.
    #[must_use]
    pub fn unit(&self) -> VectorUnit {
        VectorUnit {
            lanes: self.lanes(),
            max_beats: self.max_beats,
            buffer: 2 * self.max_beats,
            lane: self.lane.clone(),
            requantize: self.requantize.clone(),
        }
    }

    fn controller(&self) -> VectorController {
        VectorController { axi: self.axi.clone(), dma: self.dma.clone(), max_columns: self.max_columns() }
    }

    fn commands(&self) -> (AxiSpec, DmaSpec) {
        (self.axi.clone(), self.dma.clone())
    }
}

ports! {
    /// Ports of [`VectorEngine`].
    pub struct VectorEnginePorts(p: &VectorEngine) {
        /// Drops everything.
        abort_i: In = bit(),
        /// No operation is in hand.
        idle_o: Out = bit(),
        /// A job begins: its counter starts at 0.
        began_i: In = bit(),
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// The lanes begin with a beat in this cycle.
        computing_o: Out = bit(),
        /// Beats of results of the job in which an element overflowed; some cycles late.
        overflows_o: Out = uint(64),
        /// What to do; its fields stay up to its end.
        operation: InStream<Operation> = 24,
        /// How it ended.
        operation_end: OutStream<OperationEnd> = (),
        /// What to read: elements, addends, factors, gains.
        read_command: OutStreams<DmaCommand> = (READERS, p.commands()),
        /// The rows.
        read: InStreams<RowBeat> = (READERS, p.axi.clone()),
        /// How reading ended.
        read_end: InStreams<DmaCompletion> = (READERS, p.axi.clone()),
        /// Where to write.
        write_command: OutStreams<DmaCommand> = (1, p.commands()),
        /// The rows.
        write: OutStreams<Word> = (1, p.axi.data_width),
        /// How writing ended.
        write_end: InStreams<DmaCompletion> = (1, p.axi.clone()),
    }
}

impl Block for VectorEngine {
    type Ports = VectorEnginePorts;
    const ABOUT: About = About {
        name: "vector_engine",
        summary: "controller, lanes and packer of the vector accelerator",
        contract: "Operations as vector_controller does them, on rows as vector_unit and row_packer do.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &VectorEnginePorts) {
        let (lanes, abort) = (self.lanes(), io.abort_i);
        let controller = m.instance("u_controller", self.controller());
        let unit = m.instance("u_unit", self.unit());
        let packer = m.instance("u_packer", RowPacker { lanes });
        m.connect(controller.abort_i, abort);
        m.connect(unit.clear_i, abort);
        m.connect(packer.clear_i, abort);
        m.connect(io.idle_o, controller.idle_o);
        m.connect(io.computing_o, unit.computing_o);
        m.connect(controller.window_base_i, io.window_base_i);
        m.connect(controller.window_limit_i, io.window_limit_i);
        m.connect_stream(&controller.operation, &io.operation);
        m.connect_stream(&io.operation_end, &controller.operation_end);

        m.comment("Operands.");
        io.read_command.connect(m, &controller.read_command);
        controller.read_end.connect(m, &io.read_end);
        let x = io.read.at(0);
        m.connect(unit.input.valid, x.valid);
        m.connect(x.ready, unit.input.ready);
        let values = m.split("x", x.data.data, uint(16).array(lanes));
        m.connect_each("x_values", unit.input.values, values);
        let used_width = unit.input.used.width();
        m.connect(unit.input.used, x.bytes.slice(1..1 + used_width));
        m.connect(unit.input.last, x.row_last);
        m.unused(x.last);
        m.unused(x.bytes);
        for (k, name, to) in [(1, "addend", &unit.addend), (2, "factor", &unit.factor), (3, "gain", &unit.gain)] {
            let from = io.read.at(k);
            m.connect(to.valid, from.valid);
            m.connect(from.ready, to.ready);
            let values = m.split(name, from.data.data, uint(16).array(lanes));
            m.connect_each(&format!("{name}_values"), to.values, values);
            for unused in [from.bytes, from.row_last, from.last] {
                m.unused(unused);
            }
        }
        unit.steps.drive(m, "steps", &controller.steps);

        m.comment("Results.");
        m.connect(packer.format_i, controller.steps.format);
        m.connect_stream(&packer.input, &unit.output);
        let overflow = m.wire("overflow", unit.output.fire() & unit.output.overflow);
        m.connect(controller.overflow_i, overflow);
        m.connect_stream(&io.write_command.at(0), &controller.write_command);
        m.connect_stream(&io.write.at(0), &packer.output);
        m.connect_stream(&controller.write_end, &io.write_end.at(0));
        let counter = m.instance("u_overflows", EventCounters { counters: 1, ..EventCounters::default() });
        m.connect(counter.clear_i, io.began_i);
        m.connect(counter.event_i.at(0), overflow);
        m.connect(io.overflows_o, counter.count_o.at(0));
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}
