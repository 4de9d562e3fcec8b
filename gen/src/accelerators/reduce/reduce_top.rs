//! The accelerator for sums, minima, maxima and their places.

use super::reduce_engine::ReduceEngine;
use hdl::accelerators::engine::Engine;
use hdl::accelerators::registers::OwnRegisters;
use hdl::accelerators::top::{Accelerator, Top, TopPorts, TopSpec, top_spec};
use hdl::blocks::common::bus::{AxiSpec, DmaSpec};
use hdl::blocks::common::shell::JobShell;
use hdl::lang::operation::{Opcode, OperationBlock};
use hdl::lang::registers::{Constant, ReadOnly};
use hdl::lang::{About, Block, CatalogBlock, Group, Module, parameters, ports, registers};

parameters! {
    /// Elaboration parameters.
    pub struct ReduceTop {
        /// The bus as a DMA sees it; a beat holds one element of 16 bits per lane.
        axi: AxiSpec = AxiSpec::default();
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; with two, results have one of their own.
        ports: u32 = 1, in 1..=2, named "when set";
        /// Elements of the longest row.
        max_columns: u32 = 65536, in 1..=4_194_304, tag "c";
        /// Beats that the read DMA keeps.
        read_beats: u32 = 64, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that the write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "w";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("max_columns", &p.engine());
    };
}

parameters! {
    /// What a driver needs to know.
    pub struct ReduceCaps {
        /// Elements of the longest row.
        max_columns: u32 = 65536, in 1..=4_194_304, tag "c";
    }
}

registers! {
    /// Registers that only `reduce_top` has.
    pub struct ReduceFields(p: ReduceCaps) {
        /// How it was built.
        CAPS at 0x100 {
            /// Elements of the longest row.
            max_columns: Constant = (32, p.max_columns.into()) at 0,
        }
        /// Results of the job.
        OVERFLOWS at 0x108 {
            /// Rows with an element that is infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
    }
}

impl OwnRegisters for ReduceFields {
    const NAME: &'static str = "reduce_registers";
    const ACCELERATOR: u32 = 6;
}

impl ReduceTop {
    /// The engine between the streams of the shell.
    #[must_use]
    pub fn engine(&self) -> ReduceEngine {
        ReduceEngine { axi: self.axi.clone(), dma: self.dma.clone(), max_columns: self.max_columns }
    }
}

impl Accelerator for ReduceTop {
    type Own = ReduceFields;

    fn shell(&self) -> JobShell {
        JobShell {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            ports: self.ports,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
            ..JobShell::default()
        }
    }

    fn own_registers(&self) -> ReduceCaps {
        ReduceCaps { max_columns: self.max_columns }
    }

    fn operations(&self) -> Vec<Opcode> {
        vec![Opcode { name: "reduce".into(), number: 1, layout: self.engine().operation().layout() }]
    }
}

ports! {
    /// Ports of [`ReduceTop`].
    pub struct ReduceTopPorts(p: &ReduceTop) {
        /// To the host and to memory.
        top: Group<TopPorts, TopSpec> = top_spec(&p.shell()),
    }
}

impl Block for ReduceTop {
    type Ports = ReduceTopPorts;
    const ABOUT: About = About {
        name: "reduce_top",
        summary: "accelerator for sum, minimum, maximum and place of the maximum of rows, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, all with opcode 1. A descriptor reads rows of fp16\n\
            numbers and writes a record of 16 bytes for each. Descriptors, errors and registers:\n\
            docs/blocks/reduce-top.md. No input in memory hangs it or makes it write outside of the records that a right\n\
            descriptor names.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &ReduceTopPorts) {
        let top = Top::new(m, self, &io.top);
        let engine = m.instance("u_engine", self.engine());
        top.engines(m, &[Engine { name: "reduces", opcodes: &[1], ports: &engine.shell }]);
        top.count(m, 1, &[(engine.shell.overflows_o, top.registers.own.overflows)]);
    }
}

impl CatalogBlock for ReduceTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, ports, max_columns, burst_beats| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, ..DmaSpec::default() },
            ports,
            max_columns,
            ..Self::default()
        };
        vec![set(32, 32, 1, 7, 4), set(64, 36, 2, 100, 8), set(256, 40, 1, 1000, 16)]
    }
}
