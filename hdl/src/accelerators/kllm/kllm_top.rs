//! The KLLM accelerator: registers, shell, the engines for products, for rows, for rows that become tokens, and for tokens that
//! are put into panels.

use super::append_controller::READERS as APPENDED;
use super::append_engine::AppendEngine;
use super::append_spec::AppendSpec;
use super::kllm_controller::READERS;
use super::kllm_engine::KllmEngine;
use super::kllm_registers::KllmRegisters;
use super::kllm_spec::KllmSpec;
use super::quantize_controller::READERS as QUANTIZED;
use super::quantize_engine::QuantizeEngine;
use super::quantizer_spec::QuantizerSpec;
use crate::accelerators::engines::{fork_all, merge_all, of_used};
use crate::accelerators::vector::VectorEngine;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaCommand, DmaCompletion, DmaSpec, RowBeat};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobShell, JobShellPorts, Operation, OperationEnd};
use crate::blocks::common::stream::Word;
use crate::blocks::kllm::TreeStyle;
use crate::lang::{
    About, Block, CatalogBlock, Module, Out, Signal, Stream, StreamArray, Timing, bit, bits_for, parameters, ports,
};

/// Operation of the vector engine.
const VECTOR: u32 = 3;
/// Operation of the quantizer.
const QUANTIZE: u32 = 4;
/// Operation that puts a token into panels.
const APPEND: u32 = 5;
/// Largest number of an operation; 4 is refused without a quantizer, 5 where beats of panels are less than lines.
const OPCODES: u32 = 5;
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
        /// Values among which the quantizer finds outliers at once: makes tokens of rows; 0 without one.
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

    /// What makes tokens of rows, if anything does.
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

    /// What puts tokens into panels, if anything does: lines are whole beats of the bus, and a beat of a panel is whole lines.
    #[must_use]
    pub fn appender(&self) -> Option<AppendEngine> {
        let spec = AppendSpec { axi: self.axi.clone(), product: self.product.clone() };
        let built = self.axi.data_width <= 512 && self.product.beat_bytes() >= 64;
        built.then(|| AppendEngine { dma: self.dma.clone(), spec })
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
        contract: "A job is a chain of descriptors of 128 bytes: 1 a product of tokens and panels of weights, 2 one of 8-bit integers and panels,\n\
            3 rows through the steps of vector_unit, 4 rows that become tokens, where there is a quantizer, 5 a token that is put into\n\
            panels. Descriptors, errors and registers: docs/blocks/kllm-top.md. No input in memory hangs it or makes it write outside of the rows that a right descriptor names.",
        reference: "KLLM, section IV-A, figure 6",
    };

    fn build(&self, m: &mut Module, io: &KllmTopPorts) {
        let registers = m.instance("u_registers", self.registers());
        let shell = m.instance("u_shell", self.shell());
        let engine = m.instance("u_engine", self.engine());
        let vector = m.instance("u_vector", self.vector());
        let quantizer = self.quantizer().map(|quantizer| m.instance("u_quantizer", quantizer));
        let appender = self.appender().map(|appender| m.instance("u_appender", appender));
        registers.ctrl.connect(m, &io.ctrl);
        m.connect(io.irq_o, registers.irq_o);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, &registers.shell);

        m.comment("An operation goes to one of the engines, and the DMAs with it.");
        let rows = m.wire("rows", shell.operation.opcode.eq(VECTOR));
        let mut engines = vec![Engine {
            chosen: Some(rows),
            controls: [vector.abort_i, vector.window_base_i, vector.window_limit_i],
            states: [vector.idle_o, vector.computing_o, vector.overflow_o],
            operation: vector.operation,
            end: vector.operation_end,
            reads: (SHARED, vector.read_command, vector.read, vector.read_end),
            writes: (vector.write_command, vector.write, vector.write_end),
        }];
        engines.extend(quantizer.map(|quantizer| Engine {
            chosen: Some(m.wire("tokens", shell.operation.opcode.eq(QUANTIZE))),
            controls: [quantizer.abort_i, quantizer.window_base_i, quantizer.window_limit_i],
            states: [quantizer.idle_o, quantizer.computing_o, quantizer.overflows_o],
            operation: quantizer.operation,
            end: quantizer.operation_end,
            reads: (QUANTIZED, quantizer.read_command, quantizer.read, quantizer.read_end),
            writes: (quantizer.write_command, quantizer.write, quantizer.write_end),
        }));
        // It has no numbers that overflow.
        let none = bit().lit(0);
        engines.extend(appender.map(|appender| Engine {
            chosen: Some(m.wire("appends", shell.operation.opcode.eq(APPEND))),
            controls: [appender.abort_i, appender.window_base_i, appender.window_limit_i],
            states: [appender.idle_o, appender.computing_o, none],
            operation: appender.operation,
            end: appender.operation_end,
            reads: (APPENDED, appender.read_command, appender.read, appender.read_end),
            writes: (appender.write_command, appender.write, appender.write_end),
        }));
        engines.push(Engine {
            chosen: None,
            controls: [engine.abort_i, engine.window_base_i, engine.window_limit_i],
            states: [engine.idle_o, engine.computing_o, engine.overflows_o],
            operation: engine.operation,
            end: engine.operation_end,
            reads: (READERS, engine.read_command, engine.read, engine.read_end),
            writes: (engine.write_command, engine.write, engine.write_end),
        });
        for own in &engines {
            let [abort, base, limit] = own.controls;
            m.connect(abort, shell.abort_o);
            m.connect(base, registers.shell.window_base);
            m.connect(limit, registers.shell.window_limit);
        }
        let state = |k: usize| engines.iter().map(|own| own.states[k]).collect::<Vec<Signal>>();
        m.connect(shell.idle_i, state(0).into_iter().reduce(|a, b| a & b).unwrap_or(engine.idle_o));
        m.connect(shell.computing_i, state(1).into_iter().reduce(|a, b| a | b).unwrap_or(engine.computing_o));
        self.streams(m, &shell, &engines);

        let most = self.quantizer().map_or(0, |quantizer| quantizer.spec.lanes()).max(self.product.outputs);
        let counters = EventCounters { counters: 3, most, ..EventCounters::default() };
        let counters = m.instance("u_counters", counters);
        m.connect(counters.clear_i, shell.host.began_o);
        let width = bits_for(most.into());
        let chosen: Vec<Signal> = engines.iter().filter_map(|own| own.chosen).collect();
        let overflows: Vec<Signal> = state(2).into_iter().map(|count| count.extend(width)).collect();
        for (k, event, count) in [
            (0, of_used(&chosen, &overflows), registers.own.overflows),
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

/// An engine behind the shell.
struct Engine {
    /// The operation is its own; the last engine does what nobody else has.
    chosen: Option<Signal>,
    /// Abort, first and last byte of the window.
    controls: [Signal; 3],
    /// It is idle; it computes; results of this cycle with an overflow.
    states: [Signal; 3],
    operation: Stream<Operation>,
    end: Stream<OperationEnd>,
    /// How many DMAs it reads with, commands, rows, ends.
    reads: (u32, StreamArray<DmaCommand>, StreamArray<RowBeat>, StreamArray<DmaCompletion>),
    /// Commands, rows, ends of writing.
    writes: (StreamArray<DmaCommand>, StreamArray<Word>, StreamArray<DmaCompletion>),
}

impl KllmTop {
    /// Between the shell and the engine that is chosen.
    fn streams(&self, m: &mut Module, shell: &JobShellPorts, engines: &[Engine]) {
        let chosen: Vec<Signal> = engines.iter().filter_map(|own| own.chosen).collect();
        let operations: Vec<_> = engines.iter().map(|own| own.operation.clone()).collect();
        fork_all(m, "operation", &chosen, &shell.operation, &operations);
        let ends: Vec<_> = engines.iter().map(|own| own.end.clone()).collect();
        merge_all(m, ("operation_end", &()), &chosen, &shell.operation_end, &ends);
        let (spec, dmas) = ((self.axi.clone(), self.dma.clone()), &shell.dmas);
        for k in 0..READERS {
            let readers: Vec<&Engine> = engines.iter().filter(|own| k < own.reads.0).collect();
            let chosen: Vec<Signal> = readers.iter().filter_map(|own| own.chosen).collect();
            let commands: Vec<_> = readers.iter().map(|own| own.reads.1.at(k)).collect();
            merge_all(m, (&format!("read_command_{k}"), &spec), &chosen, &dmas.read_command.at(k), &commands);
            let rows: Vec<_> = readers.iter().map(|own| own.reads.2.at(k)).collect();
            fork_all(m, &format!("read_{k}"), &chosen, &dmas.read.at(k), &rows);
            let ends: Vec<_> = readers.iter().map(|own| own.reads.3.at(k)).collect();
            fork_all(m, &format!("read_end_{k}"), &chosen, &dmas.read_end.at(k), &ends);
        }
        let commands: Vec<_> = engines.iter().map(|own| own.writes.0.at(0)).collect();
        merge_all(m, ("write_command", &spec), &chosen, &dmas.write_command.at(0), &commands);
        let rows: Vec<_> = engines.iter().map(|own| own.writes.1.at(0)).collect();
        merge_all(m, ("write", &self.axi.data_width), &chosen, &dmas.write.at(0), &rows);
        let ends: Vec<_> = engines.iter().map(|own| own.writes.2.at(0)).collect();
        fork_all(m, "write_end", &chosen, &dmas.write_end.at(0), &ends);
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
            Self { orizuru: 8, ..set(32, 32, 4, spec([1, 32, 2], 6, [3, 20], 1, 1)) },
            set(64, 48, 8, spec([1, 32, 4], 10, [3, 10], 2, 2)),
            Self { ports: 3, orizuru: 16, ..set(128, 40, 8, spec([2, 16, 4], 8, [4, 12], 5, 4)) },
        ]
    }
}
