//! The KLLM accelerator: registers, shell, engines.

use super::append_engine::AppendEngine;
use super::append_spec::AppendSpec;
use super::kllm_engine::{KllmEngine, MATMUL, SCORES};
use super::kllm_registers::{KllmCaps, KllmFields};
use super::kllm_spec::KllmSpec;
use super::quantize_engine::QuantizeEngine;
use super::quantizer_spec::QuantizerSpec;
use crate::accelerators::engine::Engine;
use crate::accelerators::top::{Accelerator, Top, TopParameters, TopPorts};
use crate::accelerators::vector::{VectorEngine, VectorParameters};
use crate::blocks::common::shell::JobShell;
use crate::blocks::kllm::TreeStyle;
use crate::lang::operation::{Opcode, OperationBlock};
use crate::lang::{About, Block, CatalogBlock, Module, bits_for, parameters};

/// Operation of the vector engine.
const VECTOR: u32 = 3;
/// Operation of the quantizer.
const QUANTIZE: u32 = 4;
/// Operation that puts a token into panels.
const APPEND: u32 = 5;

parameters! {
    /// Elaboration parameters.
    pub struct KllmTop {
        /// How it reaches memory.
        bus: TopParameters = TopParameters::default(), named "inline";
        /// The lanes.
        product: KllmSpec = KllmSpec::default();
        /// The vector unit.
        vector: VectorParameters = VectorParameters::all(), named "inline";
        /// Values among which the quantizer finds outliers at once; 0: no quantizer. The quantizer makes tokens of
        /// rows.
        orizuru: u32 = 0, in 0..=32_768, note "0, or a power of two, a beat of the bus at least", named "when set";
        /// How the trees of its Orizuru are built.
        tree: TreeStyle = TreeStyle::default(), named "when set";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("product", &p.engine());
        rules.part("max_beats", &p.vector());
        if let Some(quantizer) = p.quantizer() {
            rules.part("orizuru", &quantizer);
        }
        if let Some(appender) = p.appender() {
            rules.part("product", &appender);
        }
    };
}

impl KllmTop {
    /// The engine for products.
    #[must_use]
    pub fn engine(&self) -> KllmEngine {
        let (axi, dma) = (self.bus.axi.clone(), self.bus.dma.clone());
        KllmEngine { axi, dma, spec: self.product.clone(), waits: self.bus.overlaps }
    }

    /// The engine for rows.
    #[must_use]
    pub fn vector(&self) -> VectorEngine {
        VectorEngine { waits: self.bus.overlaps, ..self.vector.engine(&self.bus.axi, &self.bus.dma) }
    }

    /// The quantizer, which makes tokens of rows, if there is one.
    #[must_use]
    pub fn quantizer(&self) -> Option<QuantizeEngine> {
        (self.orizuru > 0).then(|| self.quantize_engine())
    }

    /// The engine that puts tokens into panels, if there is one. Lines are whole beats of the bus, and a beat of a
    /// panel is whole lines.
    #[must_use]
    pub fn appender(&self) -> Option<AppendEngine> {
        let built = self.bus.axi.data_width <= 512 && self.product.beat_bytes() >= 64;
        built.then(|| self.append_engine())
    }

    fn quantize_engine(&self) -> QuantizeEngine {
        let spec = QuantizerSpec {
            axi: self.bus.axi.clone(),
            orizuru: self.orizuru,
            kmax: self.product.kmax,
            inner: self.product.inner(),
            tree: self.tree.clone(),
        };
        QuantizeEngine { dma: self.bus.dma.clone(), spec, waits: self.bus.overlaps }
    }

    fn append_engine(&self) -> AppendEngine {
        let spec = AppendSpec { axi: self.bus.axi.clone(), product: self.product.group() };
        AppendEngine { dma: self.bus.dma.clone(), spec, waits: self.bus.overlaps }
    }

    /// Most results of a cycle that are not exact.
    fn most_overflows(&self) -> u32 {
        let (tokens, products) = (self.quantizer().map_or(0, |quantizer| quantizer.spec.lanes()), self.product.outputs);
        if self.bus.overlaps { 1 + tokens + products } else { tokens.max(products) }
    }
}

impl Accelerator for KllmTop {
    type Own = KllmFields;

    fn shell(&self) -> JobShell {
        self.bus.shell(&self.readers())
    }

    /// Of the vector unit, of quantizer and appender where they are built, and of the lanes.
    fn readers(&self) -> Vec<u32> {
        let quantizer = self.quantizer().map(|_| QuantizeEngine::READERS);
        let appender = self.appender().map(|_| AppendEngine::READERS);
        [Some(VectorEngine::READERS), quantizer, appender, Some(self.product.readers())].into_iter().flatten().collect()
    }

    fn own_registers(&self) -> KllmCaps {
        KllmCaps { spec: self.product.clone(), orizuru: self.orizuru, vector: self.vector().caps(0x110) }
    }

    /// All operations, also where a build lacks the part for one: software has the same tables for every build. The
    /// engine for products refuses quantize without a quantizer, and append where a beat of a panel is shorter than a
    /// line.
    fn operations(&self) -> Vec<Opcode> {
        let product = self.engine().operation().layout();
        let mut quantize = self.quantize_engine().operation().layout();
        quantize.meaning += " Only in builds with a quantizer.";
        let mut append = self.append_engine().operation().layout();
        append.meaning +=
            " Only in builds with a bus of at most 512 bits and panels whose beats have at least 64 bytes.";
        let all = [
            ("matmul", MATMUL, product.clone()),
            ("scores", SCORES, product),
            ("vector", VECTOR, self.vector().operation().layout()),
            ("quantize", QUANTIZE, quantize),
            ("append", APPEND, append),
        ];
        all.map(|(name, number, layout)| Opcode { name: name.into(), number, layout }).into()
    }
}

impl Block for KllmTop {
    type Ports = TopPorts;
    const ABOUT: About = About {
        name: "kllm_top",
        summary: "accelerator for products of K-Means indices with fp16 outliers, and for the rows between them, from memory to memory",
        contract: "A job is a chain of descriptors of 128 bytes, with these operations (opcodes):\n\
            - product of tokens and panels of weights (1)\n\
            - product of 8-bit integers and panels (2)\n\
            - rows through the steps of vector_unit (3)\n\
            - rows that become tokens, with a quantizer (4)\n\
            - a token that is put into panels (5).\n\
            Descriptors, errors and registers: docs/blocks/kllm-top-reference.md. No input in memory hangs it or\n\
            makes it write outside of the rows that a right descriptor names.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &TopPorts) {
        let top = Top::new(m, self, io);
        let product = m.instance("u_engine", self.engine());
        let vector = m.instance("u_vector", self.vector());
        let quantizer = self.quantizer().map(|quantizer| m.instance("u_quantizer", quantizer).shell);
        let appender = self.appender().map(|appender| m.instance("u_appender", appender).shell);
        let own = |name, opcodes, ports| Engine { name, opcodes, ports };
        let mut engines = vec![own("rows", &[VECTOR], &vector.shell)];
        engines.extend(quantizer.as_ref().map(|ports| own("tokens", &[QUANTIZE], ports)));
        engines.extend(appender.as_ref().map(|ports| own("appends", &[APPEND], ports)));
        engines.push(own("products", &[MATMUL, SCORES], &product.shell));
        let chosen = top.engines(m, &engines);
        let (overflows, counted) = (top.overflows(&chosen, &engines), &top.registers.own);
        // The sum of all engines never needs all of its bits.
        let overflows = overflows.truncate(overflows.width().min(bits_for(self.most_overflows().into())));
        let events = [
            (overflows, counted.overflows),
            (product.shell.computing_o, counted.compute),
            (product.repeats_o, counted.repeats),
        ];
        top.count(m, self.most_overflows(), &events);
    }
}

impl CatalogBlock for KllmTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let vector = VectorParameters { max_beats: 16, ..VectorParameters::all() };
        let set = |bus, product| Self { bus, product, vector: vector.clone(), ..Self::default() };
        let spec = |[lanes, columns, inputs]: [u32; 3], centroid_bits, [buffer, depth]: [u32; 2], kmax, outputs| {
            KllmSpec { lanes, columns, inputs, centroid_bits, buffer, depth, kmax, outputs, ..KllmSpec::default() }
        };
        vec![
            Self { orizuru: 8, ..set(TopParameters::new(32, 32, 4), spec([1, 32, 2], 6, [3, 20], 1, 1)) },
            set(TopParameters::new(64, 48, 8), spec([1, 32, 4], 10, [3, 10], 2, 2)),
            Self {
                orizuru: 16,
                ..set(
                    TopParameters { ports: 4, ..TopParameters::new(128, 40, 8) },
                    KllmSpec { groups: 2, ..spec([4, 16, 4], 8, [4, 12], 5, 4) },
                )
            },
            Self {
                orizuru: 8,
                ..set(
                    TopParameters { ports: 3, overlaps: true, ..TopParameters::new(64, 40, 8) },
                    spec([2, 32, 4], 8, [4, 12], 2, 2),
                )
            },
        ]
    }
}
