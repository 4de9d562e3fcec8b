//! The KLLM accelerator: registers, shell, the engine for products, the engine for rows.

use super::kllm_controller::READERS;
use super::kllm_engine::KllmEngine;
use super::kllm_registers::KllmRegisters;
use super::kllm_spec::KllmSpec;
use crate::accelerators::engines::{fork, merge};
use crate::accelerators::vector::VectorEngine;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobShell};
use crate::lang::{About, Block, CatalogBlock, Module, Out, Timing, bit, mux, parameters, ports};

/// Operation of the vector engine.
const VECTOR: u32 = 3;
/// Largest number of an operation; 4 is refused.
const OPCODES: u32 = 4;
/// Read DMAs that the vector engine has too.
const SHARED: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct KllmTop {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer is counted behind the readers.
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
        /// The last one.
        requantize: RequantizeLane = RequantizeLane::default();
        /// What the vector unit has for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::all();
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("product", &p.engine());
        rules.part("max_beats", &p.vector());
    };
}

impl KllmTop {
    fn shell(&self) -> JobShell {
        JobShell {
            axi: self.axi.clone(),
            dma: self.dma.clone(),
            ports: self.ports,
            readers: READERS,
            writers: 1,
            read_beats: self.read_beats,
            write_beats: self.write_beats,
            descriptor_bytes: 128,
            opcodes: OPCODES,
        }
    }

    /// What does products.
    #[must_use]
    pub fn engine(&self) -> KllmEngine {
        KllmEngine { axi: self.axi.clone(), dma: self.dma.clone(), spec: self.product.clone() }
    }

    /// What does rows.
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

    fn registers(&self) -> KllmRegisters {
        KllmRegisters {
            spec: self.product.clone(),
            orizuru: 0,
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
        contract: "A job is a chain of descriptors of 128 bytes: 1 a product of tokens and panels of weights, 2 one of 8-bit integers and\n\
            panels, 3 rows through the steps of vector_unit; 4 is refused. Descriptors, errors and registers: docs/blocks/kllm-top.md. No input in memory hangs it or makes it\n\
            write outside of the rows that a right descriptor names.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &KllmTopPorts) {
        let registers = m.instance("u_registers", self.registers());
        let shell = m.instance("u_shell", self.shell());
        let engine = m.instance("u_engine", self.engine());
        let vector = m.instance("u_vector", self.vector());
        registers.ctrl.connect(m, &io.ctrl);
        m.connect(io.irq_o, registers.irq_o);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, &registers.shell);
        for (to, from) in [
            (engine.abort_i, shell.abort_o),
            (vector.abort_i, shell.abort_o),
            (engine.window_base_i, registers.shell.window_base),
            (vector.window_base_i, registers.shell.window_base),
            (engine.window_limit_i, registers.shell.window_limit),
            (vector.window_limit_i, registers.shell.window_limit),
            (shell.idle_i, engine.idle_o & vector.idle_o),
            (shell.computing_i, engine.computing_o | vector.computing_o),
        ] {
            m.connect(to, from);
        }

        m.comment("An operation goes to one of the two engines, and the DMAs with it.");
        let rows = m.wire("rows", shell.operation.opcode.eq(VECTOR));
        fork(m, "operation", rows, &shell.operation, (&vector.operation, &engine.operation));
        let ends = (&vector.operation_end, &engine.operation_end);
        merge(m, ("operation_end", &()), rows, &shell.operation_end, ends);
        let spec = (self.axi.clone(), self.dma.clone());
        for k in 0..SHARED {
            let commands = (&vector.read_command.at(k), &engine.read_command.at(k));
            merge(m, (&format!("read_command_{k}"), &spec), rows, &shell.dmas.read_command.at(k), commands);
            let to = (&vector.read.at(k), &engine.read.at(k));
            fork(m, &format!("read_{k}"), rows, &shell.dmas.read.at(k), to);
            let to = (&vector.read_end.at(k), &engine.read_end.at(k));
            fork(m, &format!("read_end_{k}"), rows, &shell.dmas.read_end.at(k), to);
        }
        for k in SHARED..READERS {
            m.connect_stream(&shell.dmas.read_command.at(k), &engine.read_command.at(k));
            m.connect_stream(&engine.read.at(k), &shell.dmas.read.at(k));
            m.connect_stream(&engine.read_end.at(k), &shell.dmas.read_end.at(k));
        }
        let commands = (&vector.write_command.at(0), &engine.write_command.at(0));
        merge(m, ("write_command", &spec), rows, &shell.dmas.write_command.at(0), commands);
        merge(
            m,
            ("write", &self.axi.data_width),
            rows,
            &shell.dmas.write.at(0),
            (&vector.write.at(0), &engine.write.at(0)),
        );
        fork(m, "write_end", rows, &shell.dmas.write_end.at(0), (&vector.write_end.at(0), &engine.write_end.at(0)));

        let counters = EventCounters { counters: 3, most: self.product.outputs, ..EventCounters::default() };
        let counters = m.instance("u_counters", counters);
        m.connect(counters.clear_i, shell.host.began_o);
        let width = engine.overflows_o.width();
        let overflows = mux(rows, vector.overflow_o.extend(width), engine.overflows_o);
        for (k, event, count) in [
            (0, overflows, registers.own.overflows),
            (1, engine.computing_o.extend(width), registers.own.compute),
            (2, engine.repeats_o.extend(width), registers.own.repeats),
        ] {
            m.connect(counters.event_i.at(k), event);
            m.connect(count, counters.count_o.at(k));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}

impl CatalogBlock for KllmTop {
    fn configurations() -> Vec<Self> {
        let set = |data_width, address_width, burst_beats, product| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, ..DmaSpec::default() },
            product,
            max_beats: 16,
            ..Self::default()
        };
        let spec = |[lanes, columns, inputs]: [u32; 3], centroid_bits, [buffer, depth]: [u32; 2], kmax, outputs| {
            KllmSpec { lanes, columns, inputs, centroid_bits, buffer, depth, kmax, outputs }
        };
        vec![
            set(32, 32, 4, spec([1, 32, 2], 6, [3, 20], 1, 1)),
            Self { ports: 3, ..set(128, 40, 8, spec([2, 16, 4], 8, [4, 12], 5, 4)) },
        ]
    }
}
