//! The vector accelerator: registers, shell, controller, lanes.

use super::vector_controller::READERS;
use super::vector_engine::VectorEngine;
use super::vector_registers::VectorRegisters;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobShell};
use crate::lang::{About, Block, CatalogBlock, Module, Out, bit, parameters, ports};

parameters! {
    /// Elaboration parameters.
    pub struct VectorTop {
        /// The bus as a DMA sees it; a beat holds one element of 16 bits per lane.
        axi: AxiSpec = AxiSpec::default();
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer counts as the reader after the last one.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
        /// Beats of the longest row.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 64, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that the write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "w";
        /// The steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last step.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Functions for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::default();
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("max_beats", &p.engine());
    };
}

impl VectorTop {
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

    /// The engine between the streams of the shell.
    #[must_use]
    pub fn engine(&self) -> VectorEngine {
        VectorEngine {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            max_beats: self.max_beats,
            lane: self.lane.clone(),
            requantize: self.requantize.clone(),
            units: self.units.clone(),
        }
    }
}

ports! {
    /// Ports of [`VectorTop`].
    pub struct VectorTopPorts(p: &VectorTop) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Memory.
        mem: AxiManagers = (p.ports, p.shell().port()),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for VectorTop {
    type Ports = VectorTopPorts;
    const ABOUT: About = About {
        name: "vector_top",
        summary: "accelerator for rows of fp16 numbers: scale, add, activate, gate, norms, softmax, requantize, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, all with opcode 1. A descriptor reads rows, takes\n\
            them through the steps of vector_unit, and writes them. Descriptors, errors and registers:\n\
            docs/blocks/vector-top.md. No input in memory hangs it or makes it write outside of the rows that a\n\
            right descriptor names.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &VectorTopPorts) {
        let block = VectorRegisters {
            lanes: self.engine().lanes(),
            max_beats: self.max_beats,
            function: self.lane.function as u32,
            units: self.units.clone(),
            bus: BusCaps::of(&self.axi, self.ports),
        };
        let registers = m.instance("u_registers", block);
        let shell = m.instance("u_shell", self.shell());
        m.connect(shell.opcodes_i, 1);
        let engine = m.instance("u_engine", self.engine());

        m.connect(io.irq_o, registers.irq_o);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, (&registers.ctrl, &io.ctrl), &registers.shell);

        m.connect(engine.abort_i, shell.abort_o);
        m.connect(engine.window_base_i, registers.shell.window_base);
        m.connect(engine.window_limit_i, registers.shell.window_limit);
        m.connect(shell.idle_i, engine.idle_o);
        m.connect(shell.computing_i, engine.computing_o);
        let counter = m.instance("u_overflows", EventCounters { counters: 1, ..EventCounters::default() });
        m.connect(counter.clear_i, shell.host.began_o);
        m.connect(counter.event_i.at(0), engine.overflow_o);
        m.connect(registers.own.overflows, counter.count_o.at(0));
        m.connect_stream(&engine.operation, &shell.operation);
        m.connect_stream(&shell.operation_end, &engine.operation_end);
        shell.dmas.read_command.connect(m, &engine.read_command);
        engine.read.connect(m, &shell.dmas.read);
        engine.read_end.connect(m, &shell.dmas.read_end);
        shell.dmas.write_command.connect(m, &engine.write_command);
        shell.dmas.write.connect(m, &engine.write);
        engine.write_end.connect(m, &shell.dmas.write_end);
    }
}

impl CatalogBlock for VectorTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, max_beats, burst_beats, units| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, ..DmaSpec::default() },
            max_beats,
            units,
            ..Self::default()
        };
        vec![
            set(32, 32, 3, 4, RowUnits::default()),
            Self { ports: 3, ..set(64, 36, 5, 8, RowUnits::all()) },
            Self { ports: 2, ..set(256, 40, 16, 16, RowUnits { softmax: true, ..RowUnits::default() }) },
        ]
    }
}
