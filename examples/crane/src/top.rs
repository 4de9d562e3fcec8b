//! The accelerator: its own registers, and its engines after the shell.

use senbazuru::accelerator::prelude::*;
use senbazuru::hdl::accelerators::vector::{VectorEngine, VectorParameters};

use crate::engine::{ProductEngine, ProductParameters};

/// Number of the operation on rows, and of the product.
pub const ROWS: u32 = 1;
/// See [`ROWS`].
pub const PRODUCT: u32 = 2;

parameters! {
    /// Elaboration parameters.
    pub struct Crane {
        /// How it reaches memory.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// The array.
        array: ProductParameters = ProductParameters::default(), named "inline";
        /// The vector unit.
        vector: VectorParameters = VectorParameters::all(), named "inline";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("array", &p.products());
        rules.part("max_beats", &p.rows());
    };
}

parameters! {
    /// What a driver needs to know.
    pub struct CraneCaps {
        /// The array.
        array: ProductParameters = ProductParameters::default(), named "inline";
        /// The vector unit.
        vector: VectorCaps = VectorCaps { base: 0x108, ..VectorCaps::default() };
    }
}

registers! {
    /// Registers that only the crane has, after the registers of all accelerators.
    pub struct CraneFields(p: CraneCaps) {
        /// The array.
        CAPS at 0x100 {
            /// Rows that multiply at the same time.
            rows: Constant = (9, p.array.rows.into()) at 0,
            /// Channels that share an exponent.
            group: Constant = (8, p.array.group.into()) at 16,
        }
        /// The longest row.
        CHANNELS at 0x104 {
            /// Its channels.
            channels: Constant = (16, p.array.channels.into()) at 0,
        }
        /// Results of the job.
        OVERFLOWS at 0x110 {
            /// Columns of products, or beats of rows, with a result that is saturated, infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
    }
}

impl OwnRegisters for CraneFields {
    const NAME: &'static str = "crane_registers";
    const ACCELERATOR: u32 = 0x8001;

    fn vector(spec: &CraneCaps) -> Option<VectorCaps> {
        Some(spec.vector.clone())
    }
}

impl Crane {
    /// The engine for products.
    #[must_use]
    pub fn products(&self) -> ProductEngine {
        let TopParameters { axi, dma, overlaps, .. } = self.bus.clone();
        ProductEngine { axi, dma, array: self.array.clone(), waits: overlaps }
    }

    /// The engine for rows.
    #[must_use]
    pub fn rows(&self) -> VectorEngine {
        VectorEngine { waits: self.bus.overlaps, ..self.vector.engine(&self.bus.axi, &self.bus.dma) }
    }
}

impl Accelerator for Crane {
    type Own = CraneFields;

    fn shell(&self) -> JobShell {
        self.bus.shell(&self.readers())
    }

    fn readers(&self) -> Vec<u32> {
        vec![VectorEngine::READERS, ProductEngine::READERS]
    }

    fn own_registers(&self) -> CraneCaps {
        CraneCaps { array: self.array.clone(), vector: self.rows().caps(0x108) }
    }

    fn operations(&self) -> Vec<Opcode> {
        vec![
            Opcode { name: "vector".into(), number: ROWS, layout: self.rows().operation().layout() },
            Opcode { name: "product".into(), number: PRODUCT, layout: self.products().operation().layout() },
        ]
    }
}

impl Block for Crane {
    type Ports = TopPorts;
    const ABOUT: About = About {
        name: "crane_top",
        summary: "accelerator for products with INT4 columns in groups, and for the rows between them, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, with these operations (opcodes):\n\
            - rows through the steps of vector_unit (1)\n\
            - a product of fp16 rows with columns of INT4 (2).\n\
            With overlaps both engines work at the same time. No input in memory hangs it or makes it write outside of\n\
            the rows that a right descriptor names.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TopPorts) {
        let top = Top::new(m, self, io);
        let rows = m.instance("u_rows", self.rows());
        let products = m.instance("u_products", self.products());
        let engines = [
            Engine { name: "of_rows", opcodes: &[ROWS], ports: &rows.shell },
            Engine { name: "of_products", opcodes: &[PRODUCT], ports: &products.shell },
        ];
        let chosen = top.engines(m, &engines);
        let most = if self.bus.overlaps { 2 } else { 1 };
        let inexact = top.overflows(&chosen, &engines);
        let inexact = inexact.truncate(inexact.width().min(bits_for(most.into())));
        top.count(m, most, &[(inexact, top.registers.own.overflows)]);
    }
}

impl CatalogBlock for Crane {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |bus, (rows, group, channels), max_beats| Self {
            bus,
            array: ProductParameters { rows, group, channels, ..ProductParameters::default() },
            vector: VectorParameters { max_beats, ..VectorParameters::all() },
        };
        vec![
            set(TopParameters::new(32, 32, 4), (2, 2, 21), 8),
            set(TopParameters { ports: 3, ..TopParameters::new(64, 36, 8) }, (8, 4, 100), 16),
            set(TopParameters { overlaps: true, ports: 2, ..TopParameters::new(128, 40, 8) }, (4, 8, 128), 16),
            set(TopParameters { overlaps: true, ..TopParameters::new(256, 40, 16) }, (16, 16, 200), 16),
        ]
    }
}
