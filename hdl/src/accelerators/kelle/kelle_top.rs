//! The Kelle accelerator: registers, shell, engines.

use super::attention_engine::AttentionEngine;
use super::attention_spec::AttentionSpec;
use super::integer_lanes::IntegerLane;
use super::kelle_engines::{KelleEngines, READERS};
use super::kelle_registers::KelleRegisters;
use super::kelle_spec::KelleSpec;
use super::linear_engine::LinearEngine;
use super::retention_ports::RetentionPorts;
use super::sum_lanes::SumLane;
use crate::accelerators::vector::VectorEngine;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobShell};
use crate::lang::{About, Block, CatalogBlock, Group, Module, Out, bit, bits_for, flatten, mux, parameters, ports};

/// Largest opcode, and largest opcode of a build with recomputation.
const OPCODES: [u32; 2] = [6, 8];

parameters! {
    /// Elaboration parameters.
    pub struct KelleTop {
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer counts as the reader after the last one.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
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
        /// Beats of the longest row of the vector unit.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// The vector unit's steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last step.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Functions for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::all();
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
    fn shell(&self) -> JobShell {
        JobShell {
            axi: self.spec.axi.clone(),
            dma: self.dma.clone(),
            ports: self.ports,
            readers: READERS,
            writers: 1,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
            descriptor_bytes: 128,
        }
    }

    /// The engine for linear layers.
    #[must_use]
    pub fn linear(&self) -> LinearEngine {
        LinearEngine {
            dma: self.dma.clone(),
            spec: self.spec.clone(),
            integer: self.integer.clone(),
            sum: self.sum.clone(),
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
        }
    }

    /// The engine for rows.
    #[must_use]
    pub fn vector(&self) -> VectorEngine {
        VectorEngine {
            axi: self.spec.axi.clone(),
            dma: self.dma.clone(),
            max_beats: self.max_beats,
            lane: self.lane.clone(),
            requantize: self.requantize.clone(),
            units: self.units.clone(),
        }
    }

    fn registers(&self) -> KelleRegisters {
        KelleRegisters {
            attention: self.attention.clone(),
            max_beats: self.max_beats,
            function: self.lane.function as u32,
            units: self.units.clone(),
            bus: BusCaps::of(&self.spec.axi, self.ports),
        }
    }
}

ports! {
    /// Ports of [`KelleTop`].
    pub struct KelleTopPorts(p: &KelleTop) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Memory.
        mem: AxiManagers = (p.ports, p.shell().port()),
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
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
        let registers = m.instance("u_registers", self.registers());
        let shell = m.instance("u_shell", self.shell());
        m.connect(shell.opcodes_i, OPCODES[usize::from(self.attention.recompute > 0)]);
        let engines = m.instance("u_engines", KelleEngines { top: self.clone() });
        m.connect(io.irq_o, registers.irq_o);
        io.retention.connect(m, &engines.retention);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, (&registers.ctrl, &io.ctrl), &registers.shell);
        m.comment(
            "Heads go with a soft reset that the host asks for, not with the wait for answers after an error of time.",
        );
        let asked = registers.shell.soft_reset.asked;
        let forgets = m.reg_init("forgets_q", bit(), 0);
        let forget = m.wire("forget", asked | (forgets.q & shell.host.soft_reset_busy_o));
        forgets.next(forget);
        for (to, from) in [
            (engines.abort_i, shell.abort_o),
            (engines.forget_i, forget),
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

        let most = self.spec.lanes().max(4);
        let counters = EventCounters { counters: 5, most, ..EventCounters::default() };
        let counters = m.instance("u_counters", counters);
        m.connect(counters.clear_i, shell.host.began_o);
        let width = bits_for(most.into());
        // Heads are refreshed between jobs too.
        let busy = shell.host.busy_o;
        for (k, event, count) in [
            (0, engines.overflows_o, registers.own.overflows),
            (1, engines.saturations_o, registers.own.saturations),
            (2, engines.evicts_o, registers.own.evictions),
            (3, mux(busy, engines.refreshes_o, 0), registers.own.refreshes),
            (4, busy & engines.stalls_o, registers.own.refresh_stalls),
        ] {
            m.connect(counters.event_i.at(k), event.extend(width));
            m.connect(count, counters.count_o.at(k));
        }
    }
}

impl CatalogBlock for KelleTop {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let set = |axi: (u32, u32), burst_beats, [rows, columns, tokens, inner]: [u32; 4], sizes: [u32; 5]| {
            let spec = KelleSpec {
                axi: AxiSpec { address_width: axi.1, data_width: axi.0, id_width: 1 },
                rows,
                columns,
                tokens,
                inner,
                weights: 64,
                ..KelleSpec::default()
            };
            let [heads, slots, width, group, banks] = sizes;
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
            Self { dma, spec, attention, max_beats: 16, ..Self::default() }
        };
        let without_saving =
            |block: Self| Self { attention: AttentionSpec { save: false, ..block.attention }, ..block };
        let recomputing =
            |block: Self, recompute| Self { attention: AttentionSpec { recompute, ..block.attention }, ..block };
        vec![
            recomputing(set((32, 32), 4, [2, 2, 3, 20], [1, 2, 2, 1, 1]), 1),
            without_saving(set((64, 48), 8, [4, 8, 6, 64], [3, 9, 16, 3, 2])),
            recomputing(Self { ports: 3, ..set((128, 40), 8, [16, 8, 5, 96], [2, 20, 24, 2, 3]) }, 5),
        ]
    }
}
