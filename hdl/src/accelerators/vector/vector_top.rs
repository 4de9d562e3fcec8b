//! The vector accelerator: registers, shell, controller, lanes.

use super::vector_engine::{READERS, VectorEngine};
use super::vector_registers::VectorFields;
use crate::accelerators::engine::Engine;
use crate::accelerators::registers::VectorCaps;
use crate::accelerators::top::{Accelerator, Top, TopPorts, TopSpec, top_spec};
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::JobShell;
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{About, Block, CatalogBlock, Group, Module, parameters, ports};

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

impl Accelerator for VectorTop {
    type Own = VectorFields;

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

    fn own_registers(&self) -> VectorCaps {
        self.engine().caps(0x100)
    }

    fn operations(&self) -> Vec<Opcode> {
        vec![Opcode { name: "vector".into(), number: 1, layout: self.engine().operation().layout() }]
    }
}

ports! {
    /// Ports of [`VectorTop`].
    pub struct VectorTopPorts(p: &VectorTop) {
        /// To the host and to memory.
        top: Group<TopPorts, TopSpec> = top_spec(&p.shell()),
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
        let top = Top::new(m, self, &io.top);
        let engine = m.instance("u_engine", self.engine());
        top.engines(m, &[Engine { name: "rows", opcodes: &[1], ports: &engine.shell }]);
        top.count(m, 1, &[(engine.shell.overflows_o, top.registers.own.overflows)]);
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
