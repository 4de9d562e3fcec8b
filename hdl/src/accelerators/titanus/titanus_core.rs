//! The Titanus core: registers, shell, engines.

use super::cache_engine::{APPEND, CacheEngine, RESTORE};
use super::linear_engine::{LOAD, LinearEngine, MULTIPLY};
use super::titanus_registers::{TitanusCaps, TitanusFields, VECTOR as VECTOR_CAPS};
use super::titanus_spec::TitanusSpec;
use crate::accelerators::engine::{Engine, Operations, all_idle};
use crate::accelerators::top::{Accelerator, Top, TopParameters, TopPorts, TopSpec, top_spec};
use crate::accelerators::vector::{VectorEngine, VectorParameters};
use crate::blocks::common::bus::AxiSpec;
use crate::blocks::common::shell::{JobLink, JobShell};
use crate::blocks::titanus::{DcimCells, DcimLinear, DcimMacro};
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{
    About, Block, Bundle, CatalogBlock, Group, InOption, Module, OutOption, Signal, bit, parameters, ports,
};

/// Number of the operation of the vector unit.
const VECTOR: u32 = 3;

/// Number of the operation of a link, where there is one.
const LINK: u32 = 6;

/// Read DMAs, as many as the vector engine has.
const READERS: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct TitanusCore {
        /// How it reaches memory; the bus is at most 512 bits wide.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// Weights, constants, cache, context.
        spec: TitanusSpec = TitanusSpec::default();
        /// The vector unit.
        vector: VectorParameters = VectorParameters::all(), named "inline";
        /// Links to the core before and to the next one: none, or both.
        links: u32 = 0, in 0..=1, named "when set";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        p.bus.demand_no_overlap(rules, "its engines share the cache and the DMAs");
        rules.part("spec", &p.linear());
        rules.part("spec", &p.cache());
        rules.part("max_beats", &p.vector());
    };
}

impl TitanusCore {
    /// There are links.
    fn is_linked(&self) -> bool {
        self.links == 1
    }

    /// The bus at a port to memory.
    #[must_use]
    pub fn port(&self) -> AxiSpec {
        self.shell().port()
    }

    /// The engine for loads and products.
    #[must_use]
    pub fn linear(&self) -> LinearEngine {
        LinearEngine { axi: self.bus.axi.clone(), dma: self.bus.dma.clone(), spec: self.spec.clone() }
    }

    /// The engine that appends and restores.
    #[must_use]
    pub fn cache(&self) -> CacheEngine {
        CacheEngine { axi: self.bus.axi.clone(), dma: self.bus.dma.clone(), spec: self.spec.clone() }
    }

    /// The engine for rows.
    #[must_use]
    pub fn vector(&self) -> VectorEngine {
        self.vector.engine(&self.bus.axi, &self.bus.dma)
    }

    /// Most results of a cycle that overflow.
    #[must_use]
    pub fn most_overflows(&self) -> u32 {
        self.linear().most_overflows()
    }

    fn job_link() -> JobLink {
        JobLink { opcode: LINK, ..JobLink::default() }
    }
}

impl Accelerator for TitanusCore {
    type Own = TitanusFields;

    fn shell(&self) -> JobShell {
        self.bus.shell(&[READERS])
    }

    fn own_registers(&self) -> TitanusCaps {
        TitanusCaps { spec: self.spec.clone(), vector: self.vector().caps(VECTOR_CAPS) }
    }

    /// All operations, also where a build has no links: software has the same tables for every build.
    fn operations(&self) -> Vec<Opcode> {
        let (linear, cache) = (self.linear(), self.cache());
        let mut link = Self::job_link().fields().layout();
        link.meaning += " Only in builds with links.";
        let all = [
            ("load", LOAD, linear.load().layout()),
            ("multiply", MULTIPLY, linear.multiply().layout()),
            ("vector", VECTOR, self.vector().operation().layout()),
            ("append", APPEND, cache.append().layout()),
            ("restore", RESTORE, cache.restore().layout()),
            ("link", LINK, link),
        ];
        all.map(|(name, number, layout)| Opcode { name: name.into(), number, layout }).into()
    }

    fn opcodes(&self) -> u32 {
        if self.is_linked() { LINK } else { RESTORE }
    }
}

ports! {
    /// Ports of [`TitanusCore`].
    pub struct TitanusCorePorts(p: &TitanusCore) {
        /// To the host and to memory.
        top: Group<TopPorts, TopSpec> = top_spec(&p.shell()),
        /// The core before this one offers a token: it has made some data.
        prior_valid_i: InOption = bit().when(p.is_linked()),
        /// It is the last one of a piece of work.
        prior_last_i: InOption = bit().when(p.is_linked()),
        /// The token is taken at the coming edge, when it is valid.
        prior_ready_o: OutOption = bit().when(p.is_linked()),
        /// A token is offered to the next core; a soft reset, an error or the end of its time takes it back.
        next_valid_o: OutOption = bit().when(p.is_linked()),
        /// It is the last one of a piece of work.
        next_last_o: OutOption = bit().when(p.is_linked()),
        /// The token is taken at the coming edge, when it is valid.
        next_ready_i: InOption = bit().when(p.is_linked()),
    }
}

impl Block for TitanusCore {
    type Ports = TitanusCorePorts;
    const ABOUT: About = About {
        name: "titanus_core",
        summary: "accelerator with weights in compute-in-memory macros and a pruned, quantized cache of keys and values, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, with these operations (opcodes):\n\
            - load weights or constants (1)\n\
            - multiply rows with weights or with the context (2)\n\
            - take rows through the steps of vector_unit (3)\n\
            - append tokens to the cache (4)\n\
            - restore them (5).\n\
            Descriptors, errors and registers: docs/blocks/titanus-core-reference.md. No input in memory hangs it\n\
            or makes it write outside of the rows that a right descriptor names.",
        reference: "Titanus, section 4",
    };

    fn build(&self, m: &mut Module, io: &TitanusCorePorts) {
        let top = Top::new(m, self, &io.top);
        let linear = m.instance("u_linear", self.linear());
        let vector = m.instance("u_vector", self.vector());
        let cache = m.instance("u_cache", self.cache());
        m.comment("Products read the context.");
        m.connect(linear.context_tokens_i, cache.context_tokens_o);
        m.connect(cache.read_i, linear.read_o);
        cache.place.drive(m, "context", &linear.place);
        m.connect_each("context_data", linear.data_i, cache.data_o);

        let engines = [
            Engine { name: "rows", opcodes: &[VECTOR], ports: &vector.shell },
            Engine { name: "caches", opcodes: &[APPEND, RESTORE], ports: &cache.shell },
            Engine { name: "products", opcodes: &[LOAD, MULTIPLY], ports: &linear.shell },
        ];
        let operations = self.link(m, io, &top, all_idle(&engines));
        let chosen = top.engines_after(m, &operations, &engines);

        let own = &top.registers.own;
        m.connect_pairs([
            (cache.began_i, top.shell.host.began_o),
            (own.cached, cache.tokens_o),
            (own.beyond_k, cache.beyond_o.bit(0)),
            (own.beyond_v, cache.beyond_o.bit(1)),
            (own.kind, cache.damage_o),
            (own.of_values, cache.damage_values_o),
            (own.area, cache.damage_where_o),
            (own.linked, bit().lit(self.links)),
        ]);
        let engine = self.spec.engine();
        let most = self.most_overflows().max(engine.capability() * engine.max_beats);
        let events = [
            (top.overflows(&chosen, &engines), own.overflows),
            (linear.multiplications_o, own.multiplications),
            (linear.skipped_o, own.skipped),
            (cache.block_read_o, own.blocks_read),
            (cache.block_written_o, own.blocks_written),
        ];
        top.count(m, most, &events);
    }
}

impl TitanusCore {
    /// The operations for the engines: those of the shell, or those that a link leaves.
    fn link(&self, m: &mut Module, io: &TitanusCorePorts, top: &Top<TitanusFields>, idle: Signal) -> Operations {
        let (shell, own) = (&top.shell, &top.registers.own);
        let (
            Some(prior_valid),
            Some(prior_last),
            Some(prior_ready),
            Some(next_valid),
            Some(next_last),
            Some(next_ready),
        ) = (io.prior_valid_i, io.prior_last_i, io.prior_ready_o, io.next_valid_o, io.next_last_o, io.next_ready_i)
        else {
            m.connect(shell.idle_i, idle);
            m.connect(own.waiting, 0);
            m.connect(own.ended, 0);
            return top.operations();
        };
        let link = m.instance("u_link", Self::job_link());
        m.connect_pairs([
            (link.clear_i, shell.abort_o),
            (link.limit_i, top.registers.shell.timeout),
            (shell.idle_i, idle & link.idle_o),
            (own.waiting, link.tokens_o),
            (own.ended, link.ended_o),
            (link.prior.valid, prior_valid),
            (link.prior.last, prior_last),
            (prior_ready, link.prior.ready),
            (next_valid, link.next.valid),
            (next_last, link.next.last),
            (link.next.ready, next_ready),
        ]);
        m.connect_stream(&link.operation, &shell.operation);
        m.connect_stream(&shell.operation_end, &link.operation_end);
        Operations { operation: link.other.clone(), end: link.other_end.clone() }
    }
}

impl CatalogBlock for TitanusCore {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let store = |(inputs, outputs), (rows, columns), (load, drain)| {
            let cells = DcimCells { inputs, outputs, ..DcimCells::default() };
            DcimLinear { tile: DcimMacro { cells, ..DcimMacro::default() }, rows, columns, load, drain }
        };
        let vector = VectorParameters { max_beats: 16, ..VectorParameters::all() };
        let set = |bus, spec| Self { bus, spec, vector: vector.clone(), ..Self::default() };
        let small = TitanusSpec {
            store: store((8, 4), (2, 2), (4, 2)),
            constants: 24,
            lanes: 4,
            tiles: 2,
            levels: 4,
            context: 10,
            buffer: 4,
        };
        let wide = TitanusSpec {
            store: store((16, 8), (1, 3), (8, 4)),
            constants: 64,
            lanes: 16,
            tiles: 1,
            levels: 16,
            context: 32,
            buffer: 16,
        };
        let two = TopParameters { ports: 2, ..TopParameters::new(128, 40, 8) };
        vec![set(TopParameters::new(32, 32, 4), small), set(two, wide)]
    }
}
