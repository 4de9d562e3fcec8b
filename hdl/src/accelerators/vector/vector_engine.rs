//! The engine for rows, between the shell's streams: controller, lanes, packer.

use super::gain_reader::GainReader;
use super::row_packer::RowPacker;
use super::vector_operation::{VectorOperation, VectorOperationPorts};
use crate::accelerators::engine::{EnginePorts, EngineSpec};
use crate::accelerators::registers::VectorCaps;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane, VectorUnit, VectorUnitPorts};
use crate::blocks::common::shell::job_error;
use crate::blocks::common::shell::{OperationController, OperationControllerPorts, Own, Place, first_error};
use crate::lang::{
    About, Block, Group, Module, Signal, bit, bits_for, connect_all, mux, or_all, parameters, ports, select, uint,
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
        /// Its operations wait for those of other engines.
        waits: bool = false, tag "waits";
    }
    rules = |p, rules| {
        rules.part("max_beats", &p.unit());
        // The gains of a layer norm are pairs.
        let bytes = if p.units.layer_norm { 4 } else { 2 };
        p.dma.demand_row(rules, bytes * u64::from(p.max_columns()));
        rules.part("dma", &p.controller());
    };
}

parameters! {
    /// What a vector unit is built of: the parameters that all accelerators with one have.
    pub struct VectorParameters {
        /// Beats of the longest row of the vector unit.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// The vector unit's steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last step.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Functions for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::default();
    }
}

impl VectorParameters {
    /// The same with all functions for whole rows.
    #[must_use]
    pub fn all() -> Self {
        Self { units: RowUnits::all(), ..Self::default() }
    }

    /// The engine on a bus. Its operations wait for no others.
    #[must_use]
    pub fn engine(&self, axi: &AxiSpec, dma: &DmaSpec) -> VectorEngine {
        VectorEngine {
            axi: axi.clone(),
            dma: dma.clone(),
            waits: false,
            max_beats: self.max_beats,
            lane: self.lane.clone(),
            requantize: self.requantize.clone(),
            units: self.units.clone(),
        }
    }
}

impl VectorEngine {
    /// Operands that are read: elements, addends, factors, gains.
    pub const READERS: u32 = 4;

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

    /// The descriptor of its operation.
    #[must_use]
    pub fn operation(&self) -> VectorOperation {
        VectorOperation { max_columns: self.max_columns(), units: self.units.clone() }
    }

    /// What a driver needs to know of it, in registers that begin at `base`.
    #[must_use]
    pub fn caps(&self, base: u32) -> VectorCaps {
        VectorCaps {
            lanes: self.lanes(),
            max_beats: self.max_beats,
            function: self.lane.function as u32,
            units: self.units.clone(),
            base,
        }
    }

    fn controller(&self) -> OperationController {
        OperationController { waits: self.waits, ..OperationController::of(&self.axi, &self.dma, Self::READERS) }
    }
}

ports! {
    /// Ports of [`VectorEngine`].
    pub struct VectorEnginePorts(p: &VectorEngine) {
        /// To the shell. The DMAs read elements, addends, factors, gains. A beat of results with an element that
        /// overflows counts as one result that is not exact.
        shell: Group<EnginePorts, EngineSpec> = EngineSpec::of(p.controller(), 1),
    }
}

impl Block for VectorEngine {
    type Ports = VectorEnginePorts;
    const ABOUT: About = About {
        name: "vector_engine",
        summary: "controller, lanes and packer for rows of fp16 numbers",
        contract: "An operation as vector_operation names its fields, checked and done as operation_controller says, on\n\
            rows as in vector_unit and row_packer. ERROR_FIELD (15) refuses a step that was left out, ERROR_SIZE (9) an\n\
            odd number of columns for rotations and a length that is not 1 to columns. With the option exact an overflow\n\
            ends it with ERROR_OVERFLOW (14).",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &VectorEnginePorts) {
        let (lanes, shell) = (self.lanes(), &io.shell);
        let operation = shell.only(m, self.operation());
        let controller = shell.controller(m, self.controller());
        let unit = m.instance("u_unit", self.unit());
        let packer = m.instance("u_packer", RowPacker { lanes });
        shell.command(m, &controller);
        self.check(m, &operation, &controller);
        self.place(m, &operation, &controller);
        m.connect(unit.clear_i, shell.abort_i);
        m.connect(packer.clear_i, shell.abort_i);
        m.connect(shell.computing_o, unit.computing_o);

        m.comment("Operands.");
        let x = shell.read.at(0);
        m.connect_handshake(&unit.input, &x);
        let values = m.split("x", x.data.data, uint(16).array(lanes));
        m.connect_each("x_values", unit.input.values, values);
        let used_width = unit.input.used.width();
        m.connect(unit.input.used, x.bytes.slice(1..1 + used_width));
        m.connect(unit.input.last, x.row_last);
        m.unused(x.last);
        m.unused(x.bytes);
        self.lengths(m, io, &operation, &controller, &unit);
        for (k, name, to) in [(1, "addend", &unit.addend), (2, "factor", &unit.factor)] {
            let from = shell.read.at(k);
            m.connect_handshake(to, &from);
            let values = m.split(name, from.data.data, uint(16).array(lanes));
            m.connect_each(&format!("{name}_values"), to.values, values);
            for unused in [from.bytes, from.row_last, from.last] {
                m.unused(unused);
            }
        }
        self.gains(m, io, &operation, &unit);
        steps(m, &operation, &unit);

        m.comment("Results.");
        m.connect(packer.format_i, operation.format);
        m.connect_stream(&packer.input, &unit.output);
        let overflow = m.wire("overflow", unit.output.fire() & unit.output.overflow);
        m.connect(controller.overflow_i, overflow);
        m.connect(shell.overflows_o, overflow);
        m.connect_stream(&shell.write.at(0), &packer.output);
    }
}

impl VectorEngine {
    /// What the table of fields cannot say; and when the operation fails.
    fn check(&self, m: &mut Module, o: &VectorOperationPorts, controller: &OperationControllerPorts) {
        let softmax = m.wire("softmax", o.norm & o.kind.eq(1));
        let steps = [
            (self.units.softmax, softmax),
            (self.units.layer_norm, o.norm & o.kind.eq(2)),
            (self.units.rotary, o.rotate),
        ];
        let missing: Vec<Signal> = steps.into_iter().filter(|(there, _)| !there).map(|(_, asked)| asked).collect();
        let missing = or_all(bit(), &missing);
        let mut sizes = Vec::new();
        if self.units.rotary {
            sizes.push(o.rotate & o.columns.bit(0));
        }
        if self.units.softmax {
            let no_length = m.wire("no_length", !o.length.any() | o.length.gt(o.columns.extend(32)));
            sizes.push(softmax & no_length);
        }
        controller.refuse(m, &o.decoder, missing, or_all(bit(), &sizes));
        let fail = first_error(&[(controller.overflowed_o & o.exact, job_error::OVERFLOW)]);
        Own { fail, ..controller.own() }.connect(m, controller);
    }

    /// Elements, addends, factors, gains, results: all that are used are checked, and asked for at once.
    fn place(&self, m: &mut Module, o: &VectorOperationPorts, controller: &OperationControllerPorts) {
        let width = self.dma.row_width;
        let columns = o.columns.extend(width);
        let read_bytes = m.wire("read_bytes", columns.shl(1).slice(0..width));
        let mut gain_bytes = read_bytes;
        if self.units.layer_norm {
            let layer = m.wire("pairs", o.norm & o.kind.eq(2));
            gain_bytes = m.wire("gain_bytes", mux(layer, columns.shl(2).slice(0..width), read_bytes));
        }
        let nibbles = (columns + 1).slice(1..width + 1);
        let formats = [(o.format.eq(1), columns), (o.format.eq(2), nibbles)];
        let write_bytes = m.wire("write_bytes", select(&formats, read_bytes));
        let (yes, none) = (bit().lit(1), uint(32).lit(0));
        let operands = [
            (yes, o.x_address, read_bytes, o.x_stride),
            (o.add, o.addend_address, read_bytes, o.addend_stride),
            (o.multiply | o.rotate, o.factor_address, read_bytes, o.factor_stride),
            (o.gain, o.gain_address, gain_bytes, none),
            (yes, o.out_address, write_bytes, o.out_stride),
        ];
        for (k, (used, address, row_bytes, stride)) in (0..).zip(operands) {
            let place = Place { address, row_bytes, rows: o.rows, stride };
            controller.check(m, k, used, place);
            controller.command(m, k, used, place);
        }
    }

    /// How many elements of each row count in a softmax.
    fn lengths(
        &self,
        m: &mut Module,
        io: &VectorEnginePorts,
        o: &VectorOperationPorts,
        controller: &OperationControllerPorts,
        unit: &VectorUnitPorts,
    ) {
        let Some(to) = unit.input.length else { return };
        let first = o.length.slice(0..bits_for(self.max_columns().into()));
        let length = m.reg("length_q", first.ty());
        // A number beyond the row counts as all of it.
        let x = io.shell.read.at(0);
        let row = m.wire("row_came", x.fire() & x.row_last);
        let grows = m.wire("grows", row & o.causal & length.q.ne(self.max_columns()));
        length.next(mux(controller.begin_o, first, mux(grows, length.q.wrapping_add(1), length.q)));
        m.connect(to, length.q);
    }

    fn gains(&self, m: &mut Module, io: &VectorEnginePorts, o: &VectorOperationPorts, unit: &VectorUnitPorts) {
        let (from, to) = (io.shell.read.at(3), &unit.gain);
        if let Some(biases) = to.biases {
            let reader = m.instance("u_gains", GainReader { axi: self.axi.clone() });
            m.connect(reader.clear_i, io.shell.abort_i);
            m.connect(reader.pairs_i, o.norm & o.kind.eq(2));
            m.connect_stream(&reader.input, &from);
            m.connect_handshake(to, &reader.output);
            m.connect_each("gain_values", to.values, reader.output.values);
            if let Some(from) = reader.output.biases {
                m.connect_each("gain_biases", biases, from);
            }
            return;
        }
        m.connect_handshake(to, &from);
        let values = m.split("gain", from.data.data, uint(16).array(self.lanes()));
        m.connect_each("gain_values", to.values, values);
        for unused in [from.bytes, from.row_last, from.last] {
            m.unused(unused);
        }
    }
}

/// What the lanes do; it means something while an operation is in hand.
fn steps(m: &mut Module, o: &VectorOperationPorts, unit: &VectorUnitPorts) {
    let to = &unit.steps;
    connect_all!(m, to, o, [add, activate, multiply, norm, gain, format, quantizer, epsilon]);
    m.connect(to.scale, o.scales);
    m.connect(to.scale_factor, o.scale);
    for (port, value) in [(to.rotate, o.rotate), (to.kind, o.kind)] {
        if let Some(port) = port {
            m.connect(port, value);
        }
    }
}
