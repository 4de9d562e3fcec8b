//! The accelerator: its own registers, and its engines after the shell.

use senbazuru::accelerator::prelude::*;

use crate::operation::{ {{ type }}Engine, {{ type }}Operation};

parameters! {
    /// Elaboration parameters.
    pub struct {{ type }} {
        /// How it reaches memory; a beat has an element for each 16 bits.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// Its operation.
        operation: {{ type }}Operation = {{ type }}Operation::default(), named "inline";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        p.bus.demand_no_overlap(rules, "it has one engine");
        rules.part("max_columns", &p.engine());
    };
}

registers! {
    /// Registers that only `{{ name }}` has, after the registers of all accelerators.
    pub struct {{ type }}Fields(p: {{ type }}Operation) {
        /// How it was built.
        CAPS at 0x100 {
            /// Elements of the longest row.
            max_columns: Constant = (32, p.max_columns.into()) at 0,
        }
        /// Results of the job.
        CLIPPED at 0x108 {
            /// Beats with a sum that was clipped.
            clipped: ReadOnly = 64 at 0,
        }
    }
}

impl OwnRegisters for {{ type }}Fields {
    const NAME: &'static str = "{{ name }}_registers";
    // Numbers from 0x8000 on are nobody's: take any.
    const ACCELERATOR: u32 = 0x8000;
}

impl {{ type }} {
    /// The engine between the streams of the shell.
    #[must_use]
    pub fn engine(&self) -> {{ type }}Engine {
        {{ type }}Engine { bus: self.bus.clone(), operation: self.operation.clone() }
    }
}

impl Accelerator for {{ type }} {
    type Own = {{ type }}Fields;

    fn shell(&self) -> JobShell {
        self.bus.shell(&[1])
    }

    fn own_registers(&self) -> {{ type }}Operation {
        self.operation.clone()
    }

    fn operations(&self) -> Vec<Opcode> {
        vec![Opcode { name: "add".into(), number: 1, layout: self.operation.layout() }]
    }
}

impl Block for {{ type }} {
    type Ports = TopPorts;
    // All of this is in the header of the Verilog, and in `info {{ name }}`.
    const ABOUT: About = About {
        name: "{{ name }}",
        summary: "accelerator that adds a number to rows of integers, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, all with opcode 1. A descriptor reads rows of signed 16-bit\n\
            integers, adds a number to each element, and writes the sums, clipped to 16 bits. No input in memory hangs it\n\
            or makes it write outside of the results that a right descriptor names.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TopPorts) {
        let top = Top::new(m, self, io);
        let engine = m.instance("u_engine", self.engine());
        top.engines(m, &[Engine { name: "adds", opcodes: &[1], ports: &engine.shell }]);
        top.count(m, 1, &[(engine.shell.overflows_o, top.registers.own.clipped)]);
    }
}

impl CatalogBlock for {{ type }} {
    const IS_ACCELERATOR: bool = true;

    // Every check runs on these, too: the smallest, odd ones, every mode.
    fn configurations() -> Vec<Self> {
        let set = |bus, max_columns| Self { bus, operation: {{ type }}Operation { max_columns } };
        vec![
            set(TopParameters::new(32, 32, 4), 7),
            set(TopParameters { ports: 2, ..TopParameters::new(64, 36, 8) }, 100),
            set(TopParameters::new(256, 40, 16), 1000),
        ]
    }
}
