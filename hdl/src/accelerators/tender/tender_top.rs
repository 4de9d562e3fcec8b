//! The Tender accelerator: registers, shell, the engine for products, the engine for rows.

use super::tender_engine::{MATMUL, READERS, TenderEngine};
use super::tender_lane::TenderLane;
use super::tender_operations::PackOperation;
use super::tender_registers::{TenderCaps, TenderFields};
use crate::accelerators::engine::Engine;
use crate::accelerators::top::{Accelerator, Top, TopPorts, TopSpec, top_spec};
use crate::accelerators::vector::VectorEngine;
use crate::blocks::common::RamImplementation;
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::JobShell;
use crate::blocks::tender::MultiScaleArray;
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{About, Block, CatalogBlock, Group, Module, parameters, ports};

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
}

impl Accelerator for TenderTop {
    type Own = TenderFields;

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

    fn own_registers(&self) -> TenderCaps {
        TenderCaps {
            rows: self.array.rows,
            columns: self.array.columns,
            operand_width: self.array.pe.operand_width,
            depth: self.depth,
            steps: self.steps,
            explicit: self.explicit,
            vector: self.vector().caps(0x10c),
        }
    }

    fn operations(&self) -> Vec<Opcode> {
        let (engine, vector) = (self.engine(), self.vector());
        vec![
            Opcode { name: "matmul".into(), number: MATMUL, layout: engine.matmul().layout() },
            Opcode { name: "pack".into(), number: 2, layout: PackOperation {}.layout() },
            Opcode { name: "vector".into(), number: 3, layout: vector.operation().layout() },
        ]
    }
}

ports! {
    /// Ports of [`TenderTop`].
    pub struct TenderTopPorts(p: &TenderTop) {
        /// To the host and to memory.
        top: Group<TopPorts, TopSpec> = top_spec(&p.shell()),
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
        let top = Top::new(m, self, &io.top);
        let engine = m.instance("u_engine", self.engine());
        let vector = m.instance("u_vector", self.vector());
        // The engine for products is the last one.
        top.engines(
            m,
            &[
                Engine { name: "rows", opcodes: &[3], ports: &vector.shell },
                Engine { name: "products", opcodes: &[MATMUL, 2], ports: &engine.shell },
            ],
        );
        let own = &top.registers.own;
        let inexact = engine.shell.overflows_o | vector.shell.overflows_o;
        top.count(m, 1, &[(engine.sum_overflow_o, own.sum_overflows), (inexact, own.overflows)]);
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
