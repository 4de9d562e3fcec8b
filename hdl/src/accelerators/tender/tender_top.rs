//! The Tender accelerator: registers, shell, the engine for products, the engine for rows.

use super::tender_engine::TenderEngine;
use super::tender_lane::TenderLane;
use super::tender_registers::TenderRegisters;
use crate::accelerators::engines::{fork, merge};
use crate::accelerators::vector::VectorEngine;
use crate::blocks::common::RamImplementation;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobShell};
use crate::blocks::tender::MultiScaleArray;
use crate::lang::{About, Block, CatalogBlock, Module, Out, bit, parameters, ports};

/// Operation of the vector engine.
const VECTOR: u32 = 3;

/// Read DMAs.
const READERS: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct TenderTop {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer counts as the reader after the last one.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 64, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that the write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "w";
        /// The array; rows are a power of two from 2 on, columns from 4 on, with INT8 mode.
        array: MultiScaleArray = MultiScaleArray::default();
        /// Channels of a panel that the scratchpad holds, twice.
        depth: u32 = 1024, in 2..=32768, tag "d";
        /// Entries of the index buffer, twice.
        steps: u32 = 2048, in 2..=65536, tag "s";
        /// Columns of a strip of rows that the turn buffer holds, twice.
        strip: u32 = 64, in 32..=65504, note "a multiple of 32", tag "p";
        /// Also explicit requantization, to compare with: each group of channels is a part of its tile, whose sums
        /// leave.
        explicit: bool = false, tag "explicit";
        /// The arithmetic on a result; as wide as the array's results.
        result: TenderLane = TenderLane::default();
        /// Beats of the longest row of the vector unit.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// The vector unit's steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last step.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Functions for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::all();
        /// Where scratchpad, index, output and turn buffer are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("depth", &p.engine());
        rules.part("max_beats", &p.vector());
    };
}

impl TenderTop {
    fn shell(&self) -> JobShell {
        JobShell {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            ports: self.ports,
            readers: READERS,
            writers: 1,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
            descriptor_bytes: 128,
        }
    }

    /// The engine for products and packings.
    #[must_use]
    pub fn engine(&self) -> TenderEngine {
        TenderEngine {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            array: self.array.clone(),
            depth: self.depth,
            steps: self.steps,
            strip: self.strip,
            explicit: self.explicit,
            lane: self.result.clone(),
            storage: self.storage,
        }
    }

    /// The engine for rows.
    #[must_use]
    pub fn vector(&self) -> VectorEngine {
        VectorEngine {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            max_beats: self.max_beats,
            lane: self.lane.clone(),
            requantize: self.requantize.clone(),
            units: self.units.clone(),
        }
    }

    fn registers(&self) -> TenderRegisters {
        TenderRegisters {
            rows: self.array.rows,
            columns: self.array.columns,
            operand_width: self.array.pe.operand_width,
            depth: self.depth,
            steps: self.steps,
            explicit: self.explicit,
            lanes: self.vector().lanes(),
            max_beats: self.max_beats,
            function: self.lane.function as u32,
            units: self.units.clone(),
            bus: BusCaps::of(&self.axi, self.ports),
        }
    }
}

ports! {
    /// Ports of [`TenderTop`].
    pub struct TenderTopPorts(p: &TenderTop) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Memory.
        mem: AxiManagers = (p.ports, p.shell().port()),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for TenderTop {
    type Ports = TenderTopPorts;
    const ABOUT: About = About {
        name: "tender_top",
        summary: "accelerator for quantized matrix products with channel groups, and for the rows between them, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, with these operations (opcodes):\n\
            - a product of panels (1)\n\
            - rows of fp16 numbers become panels (2)\n\
            - rows through the steps of vector_unit (3).\n\
            Descriptors, errors and registers: docs/blocks/tender-top-reference.md. No input in memory hangs it or\n\
            makes it write outside of the rows that a right descriptor names.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &TenderTopPorts) {
        let registers = m.instance("u_registers", self.registers());
        let shell = m.instance("u_shell", self.shell());
        m.connect(shell.opcodes_i, VECTOR);
        let engine = m.instance("u_engine", self.engine());
        let vector = m.instance("u_vector", self.vector());
        m.connect(io.irq_o, registers.irq_o);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, (&registers.ctrl, &io.ctrl), &registers.shell);
        for (to, from) in [
            (engine.abort_i, shell.abort_o),
            (vector.abort_i, shell.abort_o),
            (engine.window_base_i, registers.shell.window_base),
            (vector.window_base_i, registers.shell.window_base),
            (engine.window_limit_i, registers.shell.window_limit),
            (vector.window_limit_i, registers.shell.window_limit),
            (shell.idle_i, engine.idle_o & vector.idle_o),
            (shell.computing_i, engine.computing_o | vector.computing_o),
        ] {
            m.connect(to, from);
        }

        m.comment("An operation goes to one of the two engines, and the DMAs with it.");
        let rows = m.wire("rows", shell.operation.opcode.eq(VECTOR));
        fork(m, "operation", rows, &shell.operation, (&vector.operation, &engine.operation));
        let ends = (&vector.operation_end, &engine.operation_end);
        merge(m, ("operation_end", &()), rows, &shell.operation_end, ends);
        let spec = (self.axi.clone(), self.dma.clone());
        for k in 0..READERS {
            let commands = (&vector.read_command.at(k), &engine.read_command.at(k));
            merge(m, (&format!("read_command_{k}"), &spec), rows, &shell.dmas.read_command.at(k), commands);
            let to = (&vector.read.at(k), &engine.read.at(k));
            fork(m, &format!("read_{k}"), rows, &shell.dmas.read.at(k), to);
            let to = (&vector.read_end.at(k), &engine.read_end.at(k));
            fork(m, &format!("read_end_{k}"), rows, &shell.dmas.read_end.at(k), to);
        }
        let commands = (&vector.write_command.at(0), &engine.write_command.at(0));
        merge(m, ("write_command", &spec), rows, &shell.dmas.write_command.at(0), commands);
        merge(
            m,
            ("write", &self.axi.data_width),
            rows,
            &shell.dmas.write.at(0),
            (&vector.write.at(0), &engine.write.at(0)),
        );
        fork(m, "write_end", rows, &shell.dmas.write_end.at(0), (&vector.write_end.at(0), &engine.write_end.at(0)));

        let counters = m.instance("u_overflows", EventCounters { counters: 2, ..EventCounters::default() });
        m.connect(counters.clear_i, shell.host.began_o);
        m.connect(counters.event_i.at(0), engine.sum_overflow_o);
        m.connect(counters.event_i.at(1), engine.overflow_o | vector.overflow_o);
        m.connect(registers.own.sum_overflows, counters.count_o.at(0));
        m.connect(registers.own.overflows, counters.count_o.at(1));
    }
}

impl CatalogBlock for TenderTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, (rows, columns), (depth, steps), burst_beats| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, ..DmaSpec::default() },
            array: MultiScaleArray { rows, columns, ..MultiScaleArray::default() },
            depth,
            steps,
            strip: 32,
            max_beats: 16,
            ..Self::default()
        };
        let explicit = Self { explicit: true, ..set(64, 36, (8, 4), (64, 100), 8) };
        let ports = Self { ports: 3, ..set(128, 40, (8, 16), (64, 100), 16) };
        vec![set(32, 32, (2, 4), (33, 70), 4), explicit, ports]
    }
}
