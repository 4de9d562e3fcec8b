//! The vector accelerator: registers, shell, controller, lanes.

use super::vector_engine::{VectorEngine, VectorParameters};
use super::vector_registers::VectorFields;
use crate::accelerators::engine::Engine;
use crate::accelerators::registers::VectorCaps;
use crate::accelerators::top::{Accelerator, Top, TopParameters, TopPorts};
use crate::blocks::common::row::RowUnits;
use crate::blocks::common::shell::JobShell;
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{About, Block, CatalogBlock, Module, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct VectorTop {
        /// How it reaches memory; a beat holds one element of 16 bits per lane.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// The vector unit.
        vector: VectorParameters = VectorParameters::default(), named "inline";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        p.bus.demand_no_overlap(rules, "it has one engine");
        rules.part("max_beats", &p.engine());
    };
}

impl VectorTop {
    /// The engine between the streams of the shell.
    #[must_use]
    pub fn engine(&self) -> VectorEngine {
        self.vector.engine(&self.bus.axi, &self.bus.dma)
    }
}

impl Accelerator for VectorTop {
    type Own = VectorFields;

    fn shell(&self) -> JobShell {
        self.bus.shell(&[VectorEngine::READERS])
    }

    fn own_registers(&self) -> VectorCaps {
        self.engine().caps(0x100)
    }

    fn operations(&self) -> Vec<Opcode> {
        vec![Opcode { name: "vector".into(), number: 1, layout: self.engine().operation().layout() }]
    }
}

impl Block for VectorTop {
    type Ports = TopPorts;
    const ABOUT: About = About {
        name: "vector_top",
        summary: "accelerator for rows of fp16 numbers: scale, add, activate, gate, norms, softmax, requantize, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, all with opcode 1. A descriptor reads rows, takes\n\
            them through the steps of vector_unit, and writes them. Descriptors, errors and registers:\n\
            docs/blocks/vector-top.md. No input in memory hangs it or makes it write outside of the rows that a\n\
            right descriptor names.",
        reference: "AMBA AXI and ACE Protocol Specification, ARM IHI 0022",
    };

    fn build(&self, m: &mut Module, io: &TopPorts) {
        let top = Top::new(m, self, io);
        let engine = m.instance("u_engine", self.engine());
        top.engines(m, &[Engine { name: "rows", opcodes: &[1], ports: &engine.shell }]);
        top.count(m, 1, &[(engine.shell.overflows_o, top.registers.own.overflows)]);
    }
}

impl CatalogBlock for VectorTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |bus, max_beats, units| Self {
            bus,
            vector: VectorParameters { max_beats, units, ..VectorParameters::default() },
        };
        vec![
            set(TopParameters::new(32, 32, 4), 3, RowUnits::default()),
            set(TopParameters { ports: 3, ..TopParameters::new(64, 36, 8) }, 5, RowUnits::all()),
            set(
                TopParameters { ports: 2, ..TopParameters::new(256, 40, 16) },
                16,
                RowUnits { softmax: true, ..RowUnits::default() },
            ),
        ]
    }
}
