//! The engine of the vector accelerator, between the shell's streams: controller, lanes, packer.

use super::gain_reader::GainReader;
use super::row_packer::RowPacker;
use super::vector_controller::{READERS, VectorController, VectorControllerPorts};
use crate::blocks::common::bus::{AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane, VectorUnit, VectorUnitPorts};
use crate::blocks::common::shell::{Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, Bundle, In, InStream, InStreams, Module, Out, OutStream, OutStreams, bit, mux, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct VectorEngine {
        /// The bus as a DMA sees it; a beat holds one element of 16 bits per lane.
        axi: AxiSpec = AxiSpec::default();
        /// Commands of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Beats of the longest row.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// The steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last step.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Functions for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::default();
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
            units: self.units.clone(),
        }
    }

    fn controller(&self) -> VectorController {
        VectorController {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            max_columns: self.max_columns(),
            units: self.units.clone(),
        }
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
        /// First byte that may be touched; steady while an operation is in hand.
        window_base_i: In = uint(64),
        /// Last byte that may be touched; steady while an operation is in hand.
        window_limit_i: In = uint(64),
        /// The lanes begin with a beat in this cycle.
        computing_o: Out = bit(),
        /// For one cycle: a beat of results has an element that overflowed.
        overflow_o: Out = bit(),
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
        contract: "Operations as in vector_controller, on rows as in vector_unit and row_packer.",
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
        self.lengths(m, io, &controller, &unit);
        for (k, name, to) in [(1, "addend", &unit.addend), (2, "factor", &unit.factor)] {
            let from = io.read.at(k);
            m.connect(to.valid, from.valid);
            m.connect(from.ready, to.ready);
            let values = m.split(name, from.data.data, uint(16).array(lanes));
            m.connect_each(&format!("{name}_values"), to.values, values);
            for unused in [from.bytes, from.row_last, from.last] {
                m.unused(unused);
            }
        }
        self.gains(m, io, &controller, &unit);
        unit.steps.drive(m, "steps", &controller.steps);

        m.comment("Results.");
        m.connect(packer.format_i, controller.steps.format);
        m.connect_stream(&packer.input, &unit.output);
        let overflow = m.wire("overflow", unit.output.fire() & unit.output.overflow);
        m.connect(controller.overflow_i, overflow);
        m.connect_stream(&io.write_command.at(0), &controller.write_command);
        m.connect_stream(&io.write.at(0), &packer.output);
        m.connect_stream(&controller.write_end, &io.write_end.at(0));
        m.connect(io.overflow_o, overflow);
    }
}

impl VectorEngine {
    /// How many elements of each row count in a softmax.
    fn lengths(
        &self,
        m: &mut Module,
        io: &VectorEnginePorts,
        controller: &VectorControllerPorts,
        unit: &VectorUnitPorts,
    ) {
        let (Some(to), Some(from), Some(causal)) = (unit.input.length, controller.length_o, controller.causal_o) else {
            m.unused(controller.begin_o);
            return;
        };
        let length = m.reg("length_q", uint(from.width()));
        // A number beyond the row counts as all of it.
        let row = m.wire("row_came", io.read.at(0).fire() & io.read.at(0).row_last);
        let grows = m.wire("grows", row & causal & length.q.ne(self.max_columns()));
        length.next(mux(controller.begin_o, from, mux(grows, length.q.wrapping_add(1), length.q)));
        m.connect(to, length.q);
    }

    fn gains(
        &self,
        m: &mut Module,
        io: &VectorEnginePorts,
        controller: &VectorControllerPorts,
        unit: &VectorUnitPorts,
    ) {
        let (from, to) = (io.read.at(3), &unit.gain);
        if let (Some(pairs), Some(biases)) = (controller.pairs_o, to.biases) {
            let reader = m.instance("u_gains", GainReader { axi: self.axi.clone() });
            m.connect(reader.clear_i, io.abort_i);
            m.connect(reader.pairs_i, pairs);
            m.connect_stream(&reader.input, &from);
            m.connect(to.valid, reader.output.valid);
            m.connect(reader.output.ready, to.ready);
            m.connect_each("gain_values", to.values, reader.output.values);
            if let Some(from) = reader.output.biases {
                m.connect_each("gain_biases", biases, from);
            }
            return;
        }
        m.connect(to.valid, from.valid);
        m.connect(from.ready, to.ready);
        let values = m.split("gain", from.data.data, uint(16).array(self.lanes()));
        m.connect_each("gain_values", to.values, values);
        for unused in [from.bytes, from.row_last, from.last] {
            m.unused(unused);
        }
    }
}
