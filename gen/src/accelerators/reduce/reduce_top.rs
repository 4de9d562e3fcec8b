//! The accelerator for sums, minima, maxima and their places.

use hdl::accelerators::engine::Engine;
use hdl::accelerators::registers::OwnRegisters;
use hdl::accelerators::top::{Accelerator, Top, TopParameters, TopPorts};
use hdl::blocks::common::shell::JobShell;
use hdl::lang::operation::{Opcode, OperationBlock};
use hdl::lang::registers::{Constant, ReadOnly};
use hdl::lang::{About, Block, CatalogBlock, Module, parameters, registers};

use super::reduce_engine::{ReduceEngine, ReduceOperation};

parameters! {
    /// Elaboration parameters.
    pub struct ReduceTop {
        /// Its engine, and how that reaches memory.
        engine: ReduceEngine = ReduceEngine::default(), named "inline";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        p.engine.bus.demand_no_overlap(rules, "it has one engine");
        rules.part("max_columns", &p.engine);
    };
}

registers! {
    /// Registers that only `reduce_top` has.
    pub struct ReduceFields(p: ReduceOperation) {
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

impl Accelerator for ReduceTop {
    type Own = ReduceFields;

    fn shell(&self) -> JobShell {
        self.engine.bus.shell(&[1])
    }

    fn own_registers(&self) -> ReduceOperation {
        self.engine.operation.clone()
    }

    fn operations(&self) -> Vec<Opcode> {
        vec![Opcode { name: "reduce".into(), number: 1, layout: self.engine.operation.layout() }]
    }
}

impl Block for ReduceTop {
    type Ports = TopPorts;
    const ABOUT: About = About {
        name: "reduce_top",
        summary: "accelerator for sum, minimum, maximum and place of the maximum of rows, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, all with opcode 1. A descriptor reads rows of fp16\n\
            numbers and writes a record of 16 bytes for each. Descriptors, errors and registers:\n\
            docs/blocks/reduce-top.md. No input in memory hangs it or makes it write outside of the records that a right\n\
            descriptor names.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TopPorts) {
        let top = Top::new(m, self, io);
        let engine = m.instance("u_engine", self.engine.clone());
        top.engines(m, &[Engine { name: "reduces", opcodes: &[1], ports: &engine.shell }]);
        top.count(m, 1, &[(engine.shell.overflows_o, top.registers.own.overflows)]);
    }
}

impl CatalogBlock for ReduceTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |bus, max_columns| Self { engine: ReduceEngine { bus, operation: ReduceOperation { max_columns } } };
        vec![
            set(TopParameters::new(32, 32, 4), 7),
            set(TopParameters { ports: 2, ..TopParameters::new(64, 36, 8) }, 100),
            set(TopParameters::new(256, 40, 16), 1000),
        ]
    }
}
