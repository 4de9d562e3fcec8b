//! The Kelle accelerator: registers, shell, engines, and the array that linear layers and attention share.

use super::array_turns::ArrayTurns;
use super::attention_engine::{AttentionEngine, AttentionEnginePorts};
use super::attention_spec::AttentionSpec;
use super::integer_lanes::IntegerLane;
use super::kelle_registers::{KelleCaps, KelleFields};
use super::kelle_spec::KelleSpec;
use super::linear_engine::{LinearEngine, LinearEnginePorts};
use super::retention_ports::RetentionPorts;
use super::shared_array::SharedArray;
use super::sum_lanes::SumLane;
use crate::accelerators::engine::Engine;
use crate::accelerators::top::{Accelerator, Top, TopParameters, TopPorts, TopSpec, top_spec};
use crate::accelerators::vector::{VectorEngine, VectorParameters};
use crate::blocks::common::bus::{AxiSpec, DmaSpec};
use crate::blocks::common::shell::JobShell;
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{About, Block, CatalogBlock, Group, Module, Signal, bit, bits_for, flatten, mux, parameters, ports};

/// Operation of linear layers.
const LINEAR: u32 = 1;
/// Operation of the vector engine.
const VECTOR: u32 = 3;
/// Largest opcode, and largest opcode of a build with recomputation.
const OPCODES: [u32; 2] = [7, 8];

parameters! {
    /// Elaboration parameters.
    pub struct KelleTop {
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer counts as the reader after the last one.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
        /// Operations that are independent of each other run at the same time, one on each engine, and each engine has
        /// DMAs of its own. The array is handed over between them.
        overlaps: bool = false, tag "overlaps";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 64, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that the write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "w";
        /// The bus, the array, linear layers.
        spec: KelleSpec = KelleSpec::default();
        /// Heads and their cache; its `spec` is the one above.
        attention: AttentionSpec = AttentionSpec::default();
        /// Lowest high score after a reset.
        threshold: u32 = 16, in 0..=65_535, note "below 2^attention.score_width", tag "t";
        /// How an fp16 number becomes an integer.
        integer: IntegerLane = IntegerLane::default();
        /// How a sum becomes an fp16 number; as wide as the array's sums.
        sum: SumLane = SumLane::default();
        /// The vector unit.
        vector: VectorParameters = VectorParameters::all(), named "inline";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("spec", &p.linear());
        rules.part("max_beats", &p.vector());
        // Two structs with one meaning: each field is told by itself.
        for ((name, value), (_, other)) in flatten(&p.attention.spec.values()).iter().zip(flatten(&p.spec.values())) {
            let allowed = format!("{other}, as spec.{name}");
            rules.demand(*value == other, &format!("attention.spec.{name}"), value, allowed);
        }
        rules.part("attention", &p.attention());
    };
}

impl KelleTop {
    /// The engine for linear layers.
    #[must_use]
    pub fn linear(&self) -> LinearEngine {
        LinearEngine {
            dma: self.dma.clone(),
            spec: self.spec.clone(),
            integer: self.integer.clone(),
            sum: self.sum.clone(),
            overlaps: self.overlaps,
        }
    }

    /// The engine for attention.
    #[must_use]
    pub fn attention(&self) -> AttentionEngine {
        AttentionEngine {
            dma: self.dma.clone(),
            spec: self.attention.clone(),
            threshold: self.threshold,
            integer: self.integer.clone(),
            sum: self.sum.clone(),
            overlaps: self.overlaps,
        }
    }

    /// The engine for rows.
    #[must_use]
    pub fn vector(&self) -> VectorEngine {
        VectorEngine { waits: self.overlaps, ..self.vector.engine(&self.spec.axi, &self.dma) }
    }

    /// How it reaches memory.
    fn bus(&self) -> TopParameters {
        let Self { dma, ports, overlaps, read_beats, write_beats, .. } = self.clone();
        TopParameters { axi: self.spec.axi.clone(), dma, ports, overlaps, read_beats, write_beats }
    }

    /// Most events of a kind in a cycle.
    fn most_events(&self) -> u32 {
        let lanes = self.spec.lanes();
        // Of rows, of linear layers, of heads.
        if self.overlaps { (1 + 2 * lanes).max(4) } else { lanes.max(4) }
    }
}

impl Accelerator for KelleTop {
    type Own = KelleFields;

    fn shell(&self) -> JobShell {
        self.bus().shell(&self.readers())
    }

    /// Of the vector unit, of linear layers, of heads.
    fn readers(&self) -> Vec<u32> {
        vec![VectorEngine::READERS, LinearEngine::READERS, AttentionEngine::READERS]
    }

    fn own_registers(&self) -> KelleCaps {
        KelleCaps { attention: self.attention.clone(), vector: self.vector().caps(0x118) }
    }

    fn operations(&self) -> Vec<Opcode> {
        let linear = Opcode { name: "linear".into(), number: LINEAR, layout: self.linear().operation().layout() };
        let vector = Opcode { name: "vector".into(), number: VECTOR, layout: self.vector().operation().layout() };
        let mut all = vec![linear, vector];
        all.extend(self.attention().operations());
        all.sort_by_key(|operation| operation.number);
        all
    }

    fn opcodes(&self) -> u32 {
        OPCODES[usize::from(self.attention.recompute > 0)]
    }
}

ports! {
    /// Ports of [`KelleTop`].
    pub struct KelleTopPorts(p: &KelleTop) {
        /// To the host and to memory.
        top: Group<TopPorts, TopSpec> = top_spec(&p.shell()),
        /// Retention model: the cells, and the accesses to them.
        retention: Group<RetentionPorts, AttentionSpec> = p.attention.clone(),
    }
}

impl Block for KelleTop {
    type Ports = KelleTopPorts;
    const ABOUT: About = About {
        name: "kelle_top",
        summary: "accelerator for linear layers, for attention with keys and values in eDRAM, and for the rows between them, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, with these operations (opcodes):\n\
            - a linear layer (1)\n\
            - tokens of a head (2)\n\
            - rows through the steps of vector_unit (3)\n\
            - operations on heads and their refresh (4 to 8).\n\
            Descriptors, errors and registers: docs/blocks/kelle-top-reference.md. No input in memory hangs it or\n\
            makes it write outside of the rows that a right descriptor names.",
        reference: "Kelle, section 5, figure 9",
    };

    fn build(&self, m: &mut Module, io: &KelleTopPorts) {
        let top = Top::new(m, self, &io.top);
        let linear = m.instance("u_linear", self.linear());
        let vector = m.instance("u_vector", self.vector());
        let attention = m.instance("u_attention", self.attention());
        let engines = [
            Engine { name: "rows", opcodes: &[VECTOR], ports: &vector.shell },
            Engine { name: "products", opcodes: &[LINEAR], ports: &linear.shell },
            Engine { name: "heads", opcodes: &[], ports: &attention.shell },
        ];
        let chosen = top.engines(m, &engines);
        m.comment("The array belongs to linear layers or to attention.");
        let array = m.instance("u_array", SharedArray { array: self.spec.array() });
        let (products, clear) = match (linear.begin_o, attention.clear_array_o) {
            (Some(begins), Some(clears)) => (chosen[1], top.shell.abort_o | begins | clears),
            // An operation that ends without an error leaves nothing in the array.
            _ => (self.turns(m, top.shell.abort_o, (&linear, &attention)), top.shell.abort_o),
        };
        m.connect(array.clear_i, clear);
        m.connect(array.first_i, products);
        m.connect_stream(&array.first_load, &linear.load);
        m.connect_stream(&array.second_load, &attention.load);
        m.connect_stream(&array.first_step, &linear.step);
        m.connect_stream(&array.second_step, &attention.step);
        m.connect_stream(&linear.result, &array.first_result);
        m.connect_stream(&attention.result, &array.second_result);
        m.connect_each("row_valid", attention.row_valid_i, array.row_valid_o);
        m.connect_each("row_sum", attention.row_sum_i, array.row_sum_o);

        m.comment(
            "Heads go with a soft reset that the host asks for, not with the wait for answers after an error of time.",
        );
        let host = &top.shell.host;
        let forgets = m.reg_init("forgets_q", bit(), 0);
        let asked = top.registers.shell.soft_reset.asked;
        let forget = m.wire("forget", asked | (forgets.q & host.soft_reset_busy_o));
        forgets.next(forget);
        m.connect(attention.forget_i, forget);
        io.retention.connect(m, &attention.retention);

        let count = &top.registers.own;
        let (of_linear, of_heads) = (linear.saturations_o, attention.saturations_o);
        let saturations = if self.overlaps { of_linear + of_heads } else { mux(products, of_linear, of_heads) };
        // The sum of all engines never needs all of its bits.
        let overflows = top.overflows(&chosen, &engines);
        let overflows = overflows.truncate(overflows.width().min(bits_for(self.most_events().into())));
        // Heads are refreshed between jobs too.
        let events = [
            (overflows, count.overflows),
            (saturations, count.saturations),
            (attention.evicts_o, count.evictions),
            (mux(host.busy_o, attention.refreshes_o, 0), count.refreshes),
            (host.busy_o & attention.stalls_o, count.refresh_stalls),
        ];
        top.count(m, self.most_events(), &events);
    }
}

impl KelleTop {
    /// Where operations overlap, the array is handed over in the order of the chain. Returns whether linear layers have it.
    fn turns(
        &self,
        m: &mut Module,
        clear: Signal,
        (linear, attention): (&LinearEnginePorts, &AttentionEnginePorts),
    ) -> Signal {
        let turns = m.instance("u_turns", ArrayTurns {});
        m.connect(turns.clear_i, clear);
        let users = [(linear.takes_o, linear.leaves_o), (attention.takes_o, attention.leaves_o)];
        for (k, (takes, leaves)) in (0..).zip(users) {
            m.connect_option(Some(turns.takes_i.at(k)), takes);
            m.connect_option(Some(turns.leaves_i.at(k)), leaves);
        }
        turns.first_o
    }
}

impl CatalogBlock for KelleTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        /// Sizes of a bus, of the array, and of heads.
        struct Sizes {
            data_width: u32,
            address_width: u32,
            burst_beats: u32,
            rows: u32,
            columns: u32,
            tokens: u32,
            inner: u32,
            heads: u32,
            slots: u32,
            width: u32,
            group: u32,
            banks: u32,
        }
        let set = |sizes: Sizes| {
            let Sizes { data_width, address_width, burst_beats, rows, columns, tokens, inner, .. } = sizes;
            let Sizes { heads, slots, width, group, banks, .. } = sizes;
            let spec = KelleSpec {
                axi: AxiSpec { address_width, data_width, id_width: 1 },
                rows,
                columns,
                tokens,
                inner,
                weights: 64,
                ..KelleSpec::default()
            };
            let attention = AttentionSpec {
                spec: spec.clone(),
                heads,
                slots,
                width,
                group,
                banks,
                interval_width: 12,
                interval: 1000,
                patience: 40,
                tick_log2: 3,
                ..AttentionSpec::default()
            };
            let dma = DmaSpec { burst_beats, ..DmaSpec::default() };
            let vector = VectorParameters { max_beats: 16, ..VectorParameters::all() };
            Self { dma, spec, attention, vector, ..Self::default() }
        };
        let without_saving =
            |block: Self| Self { attention: AttentionSpec { save: false, ..block.attention }, ..block };
        let recomputing =
            |block: Self, recompute| Self { attention: AttentionSpec { recompute, ..block.attention }, ..block };
        let small = set(Sizes {
            data_width: 32,
            address_width: 32,
            burst_beats: 4,
            rows: 2,
            columns: 2,
            tokens: 3,
            inner: 20,
            heads: 1,
            slots: 2,
            width: 2,
            group: 1,
            banks: 1,
        });
        let middle = set(Sizes {
            data_width: 64,
            address_width: 48,
            burst_beats: 8,
            rows: 4,
            columns: 8,
            tokens: 6,
            inner: 64,
            heads: 3,
            slots: 9,
            width: 16,
            group: 3,
            banks: 2,
        });
        let large = set(Sizes {
            data_width: 128,
            address_width: 40,
            burst_beats: 8,
            rows: 16,
            columns: 8,
            tokens: 5,
            inner: 96,
            heads: 2,
            slots: 20,
            width: 24,
            group: 2,
            banks: 3,
        });
        let overlapping = recomputing(Self { overlaps: true, ports: 2, ..middle.clone() }, 2);
        vec![recomputing(small, 1), without_saving(middle), overlapping, recomputing(Self { ports: 3, ..large }, 5)]
    }
}
