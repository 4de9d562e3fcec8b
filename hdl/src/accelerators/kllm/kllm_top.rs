//! The KLLM accelerator: registers, shell, engines.

use super::append_engine::AppendEngine;
use super::append_spec::AppendSpec;
use super::kllm_engine::KllmEngine;
use super::kllm_engines::KllmEngines;
use super::kllm_registers::KllmRegisters;
use super::kllm_spec::KllmSpec;
use super::quantize_engine::QuantizeEngine;
use super::quantizer_spec::QuantizerSpec;
use crate::accelerators::vector::VectorEngine;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobShell};
use crate::blocks::kllm::TreeStyle;
use crate::lang::{About, Block, CatalogBlock, Module, Out, bit, bits_for, parameters, ports};

/// Largest opcode. The operation quantize (4) is refused without a quantizer, append (5) where a beat of a panel is
/// shorter than a line.
const OPCODES: u32 = 5;

parameters! {
    /// Elaboration parameters.
    pub struct KllmTop {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer counts as the reader after the last one.
        /// With `product.groups` + 2 ports, panels of each group come on a port of their own.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 64, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that the write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "w";
        /// The lanes.
        product: KllmSpec = KllmSpec::default();
        /// Beats of the longest row of the vector unit.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// The vector unit's steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last step.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Functions for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::all();
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
    fn shell(&self) -> JobShell {
        JobShell {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            ports: self.ports,
            readers: self.product.readers(),
            writers: 1,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
            descriptor_bytes: 128,
        }
    }

    /// The engine for products.
    #[must_use]
    pub fn engine(&self) -> KllmEngine {
        KllmEngine { axi: self.axi.clone(), dma: self.dma.clone(), spec: self.product.clone() }
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

    /// The quantizer, which makes tokens of rows, if there is one.
    #[must_use]
    pub fn quantizer(&self) -> Option<QuantizeEngine> {
        let spec = QuantizerSpec {
            axi: self.axi.clone(),
            orizuru: self.orizuru,
            kmax: self.product.kmax,
            inner: self.product.inner(),
            tree: self.tree.clone(),
        };
        (self.orizuru > 0).then(|| QuantizeEngine { dma: self.dma.clone(), spec })
    }

    /// The engine that puts tokens into panels, if there is one. Lines are whole beats of the bus, and a beat of a
    /// panel is whole lines.
    #[must_use]
    pub fn appender(&self) -> Option<AppendEngine> {
        let spec = AppendSpec { axi: self.axi.clone(), product: self.product.group() };
        let built = self.axi.data_width <= 512 && self.product.beat_bytes() >= 64;
        built.then(|| AppendEngine { dma: self.dma.clone(), spec })
    }

    /// Most results of a cycle.
    pub(super) fn most_overflows(&self) -> u32 {
        self.quantizer().map_or(0, |quantizer| quantizer.spec.lanes()).max(self.product.outputs)
    }

    fn registers(&self) -> KllmRegisters {
        KllmRegisters {
            spec: self.product.clone(),
            orizuru: self.orizuru,
            lanes: self.vector().lanes(),
            max_beats: self.max_beats,
            function: self.lane.function as u32,
            units: self.units.clone(),
            bus: BusCaps::of(&self.axi, self.ports),
        }
    }
}

ports! {
    /// Ports of [`KllmTop`].
    pub struct KllmTopPorts(p: &KllmTop) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Memory.
        mem: AxiManagers = (p.ports, p.shell().port()),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
    }
}

impl Block for KllmTop {
    type Ports = KllmTopPorts;
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

    fn build(&self, m: &mut Module, io: &KllmTopPorts) {
        let registers = m.instance("u_registers", self.registers());
        let shell = m.instance("u_shell", self.shell());
        m.connect(shell.opcodes_i, OPCODES);
        let engines = m.instance("u_engines", KllmEngines { top: self.clone() });
        m.connect(io.irq_o, registers.irq_o);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, (&registers.ctrl, &io.ctrl), &registers.shell);
        for (to, from) in [
            (engines.abort_i, shell.abort_o),
            (engines.window_base_i, registers.shell.window_base),
            (engines.window_limit_i, registers.shell.window_limit),
            (shell.idle_i, engines.idle_o),
            (shell.computing_i, engines.computing_o),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&engines.operation, &shell.operation);
        m.connect_stream(&shell.operation_end, &engines.operation_end);
        shell.dmas.read_command.connect(m, &engines.read_command);
        engines.read.connect(m, &shell.dmas.read);
        engines.read_end.connect(m, &shell.dmas.read_end);
        shell.dmas.write_command.connect(m, &engines.write_command);
        shell.dmas.write.connect(m, &engines.write);
        engines.write_end.connect(m, &shell.dmas.write_end);

        let most = self.most_overflows();
        let counters = EventCounters { counters: 3, most, ..EventCounters::default() };
        let counters = m.instance("u_counters", counters);
        m.connect(counters.clear_i, shell.host.began_o);
        let width = bits_for(most.into());
        for (k, event, count) in [
            (0, engines.overflows_o, registers.own.overflows),
            (1, engines.beats_o.extend(width), registers.own.compute),
            (2, engines.repeats_o.extend(width), registers.own.repeats),
        ] {
            m.connect(counters.event_i.at(k), event);
            m.connect(count, counters.count_o.at(k));
        }
    }
}

impl CatalogBlock for KllmTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, burst_beats, product| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, ..DmaSpec::default() },
            product,
            max_beats: 16,
            ..Self::default()
        };
        let spec = |[lanes, columns, inputs]: [u32; 3], centroid_bits, [buffer, depth]: [u32; 2], kmax, outputs| {
            KllmSpec { lanes, columns, inputs, centroid_bits, buffer, depth, kmax, outputs, ..KllmSpec::default() }
        };
        vec![
            Self { orizuru: 8, ..set(32, 32, 4, spec([1, 32, 2], 6, [3, 20], 1, 1)) },
            set(64, 48, 8, spec([1, 32, 4], 10, [3, 10], 2, 2)),
            Self {
                ports: 4,
                orizuru: 16,
                ..set(128, 40, 8, KllmSpec { groups: 2, ..spec([4, 16, 4], 8, [4, 12], 5, 4) })
            },
        ]
    }
}
