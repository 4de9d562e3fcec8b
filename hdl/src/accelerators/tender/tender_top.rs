//! The Tender accelerator: registers, shell, the engine for products, the engine for rows.

use super::engine_pe::EnginePe;
use super::pack_engine::PackEngine;
use super::pack_stage::PackStage;
use super::tender_engine::{MATMUL, TenderEngineOf};
use super::tender_lane::TenderLane;
use super::tender_operations::PackOperation;
use super::tender_registers::{TenderCaps, TenderFields};
use crate::accelerators::engine::Engine;
use crate::accelerators::top::{Accelerator, Top, TopParameters, TopPorts};
use crate::accelerators::vector::{VectorEngine, VectorParameters};
use crate::blocks::common::RamImplementation;
use crate::blocks::common::bus::DmaSpec;
use crate::blocks::common::shell::JobShell;
use crate::blocks::tender::MultiScaleArrayOf;
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{About, Block, CatalogBlock, Module, bits_for, parameters, power_of_two};

parameters! {
    /// Elaboration parameters.
    pub struct TenderTopOf<P: EnginePe> {
        /// How it reaches memory.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// The array; rows are a power of two from 2 on, columns from 4 on, with INT8 mode.
        array: MultiScaleArrayOf<P> = MultiScaleArrayOf::default();
        /// Channels of a panel that the scratchpad holds, twice.
        depth: u32 = 1024, in 2..=32768, tag "d";
        /// Entries of the index buffer, twice.
        steps: u32 = 2048, in 2..=65536, tag "s";
        /// Columns of a strip of rows that the turn buffer holds, twice.
        strip: u32 = 64, in 32..=65504, note "a multiple of 32", tag "p";
        /// Tiles of sums that the output buffer holds: with more, short tiles wait less for the ones before to leave.
        sum_tiles: u32 = 2, in 2..=4, tag "t", named "when set";
        /// DMAs that read B: with two, on two ports, each reads half of the channels of a panel, and the first panel of a
        /// product is there in half the time.
        weight_readers: u32 = 1, in 1..=2, tag "n", named "when set";
        /// Columns that a packing takes in a cycle, where operations overlap; with a bus of 16 times as many bytes their
        /// constants come as fast.
        pack_columns: u32 = 1, in power_of_two(1..=32), tag "k", named "when set";
        /// Also explicit requantization, to compare with: each group of channels is a part of its tile, whose sums
        /// leave.
        explicit: bool = false, tag "explicit";
        /// The arithmetic on a result; as wide as the array's results.
        result: TenderLane = TenderLane::of_sums(MultiScaleArrayOf::<P>::default().result_width());
        /// The vector unit.
        vector: VectorParameters = VectorParameters::all(), named "inline";
        /// Where scratchpad, index, output and turn buffer are kept.
        storage: RamImplementation = RamImplementation::Inferred, tag "";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("depth", &p.engine());
        if p.bus.overlaps {
            rules.part("pack_columns", &p.packer());
        } else {
            rules.demand(p.pack_columns == 1, "pack_columns", p.pack_columns, "1, or overlaps");
        }
        rules.part("max_beats", &p.vector());
    };
}

impl<P: EnginePe> TenderTopOf<P> {
    /// The engine for products; also for packings, where operations do not overlap.
    #[must_use]
    pub fn engine(&self) -> TenderEngineOf<P> {
        TenderEngineOf {
            axi: self.bus.axi.clone(),
            dma: self.bus.dma.clone(),
            array: self.array.clone(),
            depth: self.depth,
            steps: self.steps,
            strip: self.strip,
            sum_tiles: self.sum_tiles,
            weight_readers: self.weight_readers,
            explicit: self.explicit,
            overlaps: self.bus.overlaps,
            lane: self.result.clone(),
            storage: self.storage,
        }
    }

    /// Where operations overlap, the engine for packings.
    #[must_use]
    pub fn packer(&self) -> PackEngine {
        PackEngine {
            axi: self.bus.axi.clone(),
            dma: self.bus.dma.clone(),
            stage: PackStage { rows: self.array.rows, group: self.pack_columns, lane: self.result.clone() },
            strip: self.strip,
            storage: self.storage,
        }
    }

    /// The engine for rows.
    #[must_use]
    pub fn vector(&self) -> VectorEngine {
        VectorEngine { waits: self.bus.overlaps, ..self.vector.engine(&self.bus.axi, &self.bus.dma) }
    }
}

impl<P: EnginePe> Accelerator for TenderTopOf<P> {
    type Own = TenderFields;

    fn shell(&self) -> JobShell {
        self.bus.shell(&self.readers())
    }

    /// Of the vector unit, of the engine for packings, and of the array.
    fn readers(&self) -> Vec<u32> {
        match self.bus.overlaps {
            true => vec![VectorEngine::READERS, PackEngine::READERS, self.engine().readers()],
            false => vec![VectorEngine::READERS, self.engine().readers()],
        }
    }

    fn own_registers(&self) -> TenderCaps {
        TenderCaps {
            rows: self.array.rows,
            columns: self.array.columns,
            operand_width: self.array.pe.operand_bits(),
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

impl<P: EnginePe> Block for TenderTopOf<P> {
    type Ports = TopPorts;
    const ABOUT: About = About {
        name: P::TOP,
        summary: "accelerator for quantized matrix products with channel groups, and for the rows between them, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, with these operations (opcodes):\n\
            - a product of panels (1)\n\
            - rows of fp16 numbers become panels (2)\n\
            - rows through the steps of vector_unit (3).\n\
            Descriptors, errors and registers: docs/blocks/tender-top-reference.md. No input in memory hangs it or\n\
            makes it write outside of the rows that a right descriptor names.",
        reference: "Tender, section IV-A, figure 6(a)",
    };

    fn build(&self, m: &mut Module, io: &TopPorts) {
        let top = Top::new(m, self, io);
        let engine = m.instance("u_engine", self.engine());
        let vector = m.instance("u_vector", self.vector());
        let packer = self.bus.overlaps.then(|| m.instance("u_packer", self.packer()));
        let packings = packer.as_ref().map(|packer| Engine { name: "packings", opcodes: &[2], ports: &packer.shell });
        // The engine for products is the last one.
        let engines: Vec<Engine<'_>> = [Some(Engine { name: "rows", opcodes: &[3], ports: &vector.shell }), packings]
            .into_iter()
            .flatten()
            .chain([Engine { name: "products", opcodes: &[MATMUL, 2], ports: &engine.shell }])
            .collect();
        let chosen = top.engines(m, &engines);
        let own = &top.registers.own;
        let most = if self.bus.overlaps { engines.len() as u32 - 1 + self.pack_columns } else { 1 };
        let inexact = top.overflows(&chosen, &engines);
        // The sum of all engines never needs all of its bits.
        let inexact = inexact.truncate(inexact.width().min(bits_for(most.into())));
        top.count(m, most, &[(engine.sum_overflow_o, own.sum_overflows), (inexact, own.overflows)]);
    }
}

impl<P: EnginePe> CatalogBlock for TenderTopOf<P> {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |bus, (rows, columns), (depth, steps)| Self {
            bus,
            array: MultiScaleArrayOf { rows, columns, ..MultiScaleArrayOf::default() },
            depth,
            steps,
            strip: 32,
            vector: VectorParameters { max_beats: 16, ..VectorParameters::all() },
            ..Self::default()
        };
        let ports = TopParameters { ports: 3, ..TopParameters::new(128, 40, 16) };
        let dma = DmaSpec { burst_beats: 8, check_bits: 4, ..DmaSpec::default() };
        let fast = TopParameters { ports: 2, overlaps: true, dma, ..TopParameters::new(128, 40, 8) };
        vec![
            set(TopParameters::new(32, 32, 4), (2, 4), (33, 70)),
            Self { explicit: true, ..set(TopParameters::new(64, 36, 8), (8, 4), (64, 100)) },
            set(ports, (8, 16), (64, 100)),
            set(TopParameters { ports: 2, overlaps: true, ..TopParameters::new(64, 40, 8) }, (4, 4), (40, 70)),
            Self { pack_columns: 4, sum_tiles: 3, weight_readers: 2, ..set(fast, (2, 8), (40, 70)) },
        ]
    }
}
