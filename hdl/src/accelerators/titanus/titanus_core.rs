//! The Titanus core: registers, shell, engines.

use super::cache_engine::{APPEND, CacheEngine, RESTORE};
use super::linear_engine::{LOAD, LinearEngine, LinearEnginePorts, MULTIPLY};
use super::load_engine::{LoadEngine, LoadEnginePorts};
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
    About, Block, Bundle, CatalogBlock, Group, InOption, Module, OutOption, Signal, bit, bits_for, parameters, ports,
};

/// Number of the operation of the vector unit.
const VECTOR: u32 = 3;

/// Number of the operation of a link, where there is one.
const LINK: u32 = 6;

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
        rules.part("spec", &p.linear());
        if p.bus.overlaps {
            rules.part("spec", &p.loads());
        }
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

    /// The engine for products; also for loads, where operations do not overlap.
    #[must_use]
    pub fn linear(&self) -> LinearEngine {
        let TopParameters { axi, dma, overlaps, .. } = self.bus.clone();
        LinearEngine { axi, dma, spec: self.spec.clone(), overlaps }
    }

    /// Where operations overlap, the engine for loads.
    #[must_use]
    pub fn loads(&self) -> LoadEngine {
        LoadEngine { axi: self.bus.axi.clone(), dma: self.bus.dma.clone(), spec: self.spec.clone() }
    }

    /// The engine that appends and restores.
    #[must_use]
    pub fn cache(&self) -> CacheEngine {
        let TopParameters { axi, dma, overlaps, .. } = self.bus.clone();
        CacheEngine { axi, dma, spec: self.spec.clone(), overlaps }
    }

    /// The engine for rows.
    #[must_use]
    pub fn vector(&self) -> VectorEngine {
        VectorEngine { waits: self.bus.overlaps, ..self.vector.engine(&self.bus.axi, &self.bus.dma) }
    }

    /// Most results of a cycle that overflow.
    #[must_use]
    pub fn most_overflows(&self) -> u32 {
        // Where operations overlap, a beat of rows, too.
        self.linear().most_overflows() + u32::from(self.bus.overlaps)
    }

    fn job_link(&self) -> JobLink {
        JobLink { opcode: LINK, kept_width: self.shell().kept().unwrap_or(0), ..JobLink::default() }
    }
}

impl Accelerator for TitanusCore {
    type Own = TitanusFields;

    fn shell(&self) -> JobShell {
        self.bus.shell(&self.readers())
    }

    /// Of the vector unit, of caches, of loads where they have an engine, and of products.
    fn readers(&self) -> Vec<u32> {
        let loads = self.bus.overlaps.then_some(LoadEngine::READERS);
        let before = [VectorEngine::READERS, CacheEngine::READERS].into_iter().chain(loads);
        before.chain([LinearEngine::READERS]).collect()
    }

    fn own_registers(&self) -> TitanusCaps {
        TitanusCaps { spec: self.spec.clone(), vector: self.vector().caps(VECTOR_CAPS) }
    }

    /// All operations, also where a build has no links: software has the same tables for every build.
    fn operations(&self) -> Vec<Opcode> {
        let (linear, cache) = (self.linear(), self.cache());
        let mut link = self.job_link().fields().layout();
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

        let loads = self.bus.overlaps.then(|| self.beside(m, &linear));
        let loads = loads.as_ref().map(|loads| Engine { name: "loading", opcodes: &[LOAD], ports: &loads.shell });
        let products: &[u32] = if self.bus.overlaps { &[MULTIPLY] } else { &[LOAD, MULTIPLY] };
        let engines: Vec<Engine<'_>> = [
            Some(Engine { name: "rows", opcodes: &[VECTOR], ports: &vector.shell }),
            Some(Engine { name: "caches", opcodes: &[APPEND, RESTORE], ports: &cache.shell }),
            loads,
            Some(Engine { name: "products", opcodes: products, ports: &linear.shell }),
        ]
        .into_iter()
        .flatten()
        .collect();
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
        let multiplications = u64::from(self.spec.engines) * self.spec.engine().longest();
        let most = self.most_overflows().max(multiplications as u32);
        // The sum of all engines never needs all of its bits.
        let overflows = top.overflows(&chosen, &engines);
        let overflows = overflows.truncate(overflows.width().min(bits_for(most.into())));
        let events = [
            (overflows, own.overflows),
            (linear.multiplications_o, own.multiplications),
            (linear.skipped_o, own.skipped),
            (cache.block_read_o, own.blocks_read),
            (cache.block_written_o, own.blocks_written),
        ];
        top.count(m, most, &events);
    }
}

impl TitanusCore {
    /// The engine for loads, which writes weights and constants beside products.
    fn beside(&self, m: &mut Module, linear: &LinearEnginePorts) -> LoadEnginePorts {
        let loads = m.instance("u_loads", self.loads());
        let from = &loads.weights;
        for (to, from) in [
            (linear.weights_valid_i, Some(from.valid)),
            (Some(from.ready), linear.weights_ready_o),
            (linear.weights_row_i, Some(from.row)),
            (linear.weights_column_i, Some(from.column)),
            (linear.constant_valid_i, Some(loads.write_o)),
            (linear.constant_index_i, Some(loads.index_o)),
            (linear.constant_scale_i, Some(loads.scale_o)),
            (linear.constant_bias_i, Some(loads.bias_o)),
        ] {
            m.connect_option(to, from);
        }
        if let Some(to) = linear.weights_i {
            m.connect_each("weights", to, from.weights);
        }
        loads
    }

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
        let link = m.instance("u_link", self.job_link());
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
            engines: 1,
            buffer: 4,
        };
        let wide = TitanusSpec {
            store: store((16, 8), (1, 3), (8, 4)),
            constants: 64,
            lanes: 16,
            tiles: 1,
            levels: 16,
            context: 32,
            engines: 8,
            buffer: 16,
        };
        let two = TopParameters { ports: 2, ..TopParameters::new(128, 40, 8) };
        let overlapping = TopParameters { ports: 3, overlaps: true, ..TopParameters::new(64, 40, 8) };
        vec![
            set(TopParameters::new(32, 32, 4), small.clone()),
            set(two, wide),
            set(overlapping, TitanusSpec { engines: 2, ..small }),
        ]
    }
}
