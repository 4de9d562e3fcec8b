//! The Titanus core: registers, shell, engines.

use super::cache_engine::CacheEngine;
use super::linear_engine::LinearEngine;
use super::titanus_engines::{TitanusEngines, TitanusEnginesPorts};
use super::titanus_registers::{TitanusRegisters, TitanusRegistersPorts};
use super::titanus_spec::TitanusSpec;
use crate::accelerators::vector::VectorEngine;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinate, AxiSpec, DmaSpec};
use crate::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use crate::blocks::common::shell::{BusCaps, EventCounters, JobLink, JobShell, JobShellPorts};
use crate::blocks::titanus::{DcimCells, DcimLinear, DcimMacro};
use crate::lang::{About, Block, CatalogBlock, InOption, Module, Out, OutOption, bit, bits_for, parameters, ports};

/// Largest opcode.
const OPCODES: u32 = 5;

/// Opcode of a link, where there is one.
const LINK: u32 = OPCODES + 1;

/// Read DMAs, as many as the vector engine has.
pub(super) const READERS: u32 = 4;

parameters! {
    /// Elaboration parameters.
    pub struct TitanusCore {
        /// The bus as a DMA sees it; at most 512 bits wide.
        axi: AxiSpec = AxiSpec::default();
        /// Bursts of the DMAs.
        dma: DmaSpec = DmaSpec::default();
        /// Ports to memory; reader n is on port n modulo ports, and the writer counts as the reader after the last one.
        ports: u32 = 1, in 1..=32, note "at most one for each DMA", named "when set";
        /// Beats that a read DMA keeps.
        read_beats: u32 = 64, in 2..=65536, note "at least dma.burst_beats", tag "k";
        /// Beats that the write DMA keeps.
        write_beats: u32 = 32, in 2..=65536, note "at least dma.burst_beats", tag "w";
        /// Weights, constants, cache, context.
        spec: TitanusSpec = TitanusSpec::default();
        /// Beats of the longest row of the vector unit.
        max_beats: u32 = 64, in 1..=65535, tag "b";
        /// The vector unit's steps on an element.
        lane: VectorLane = VectorLane::default();
        /// The last step.
        requantize: RequantizeLane = RequantizeLane::default();
        /// Functions for whole rows, beside the norm by the root mean square.
        units: RowUnits = RowUnits::all();
        /// Links to the core before and to the next one: none, or both.
        links: u32 = 0, in 0..=1, named "when set";
    }
    rules = |p, rules| {
        rules.same(&p.shell());
        rules.part("spec", &p.linear());
        rules.part("spec", &p.cache());
        rules.part("max_beats", &p.vector());
    };
}

impl TitanusCore {
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
        }
    }

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
        LinearEngine { axi: self.axi.clone(), dma: self.dma.clone(), spec: self.spec.clone() }
    }

    /// The engine that appends and restores.
    #[must_use]
    pub fn cache(&self) -> CacheEngine {
        CacheEngine { axi: self.axi.clone(), dma: self.dma.clone(), spec: self.spec.clone() }
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

    /// Most results of a cycle that overflow.
    #[must_use]
    pub fn most_overflows(&self) -> u32 {
        self.linear().most_overflows()
    }

    fn registers(&self) -> TitanusRegisters {
        TitanusRegisters {
            spec: self.spec.clone(),
            lanes: self.vector().lanes(),
            max_beats: self.max_beats,
            function: self.lane.function as u32,
            units: self.units.clone(),
            bus: BusCaps::of(&self.axi, self.ports),
        }
    }
}

ports! {
    /// Ports of [`TitanusCore`].
    pub struct TitanusCorePorts(p: &TitanusCore) {
        /// Bus of the host.
        ctrl: AxiLiteSubordinate = 12,
        /// Memory.
        mem: AxiManagers = (p.ports, p.port()),
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
        /// Level: an enabled bit of STATUS is set.
        irq_o: Out = bit(),
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
        let registers = m.instance("u_registers", self.registers());
        let shell = m.instance("u_shell", self.shell());
        m.connect(shell.opcodes_i, if self.is_linked() { LINK } else { OPCODES });
        // The engines know nothing of links.
        let engines = m.instance("u_engines", TitanusEngines { top: Self { links: 0, ..self.clone() } });
        m.connect(io.irq_o, registers.irq_o);
        for (to, from) in io.mem.iter().zip(&shell.mem) {
            to.connect(m, from);
        }
        shell.connect_registers(m, (&registers.ctrl, &io.ctrl), &registers.shell);
        let own = &registers.own;
        for (to, from) in [
            (engines.abort_i, shell.abort_o),
            (engines.began_i, shell.host.began_o),
            (engines.window_base_i, registers.shell.window_base),
            (engines.window_limit_i, registers.shell.window_limit),
            (shell.computing_i, engines.computing_o),
            (own.cached, engines.tokens_o),
            (own.beyond_k, engines.beyond_o.bit(0)),
            (own.beyond_v, engines.beyond_o.bit(1)),
            (own.kind, engines.damage_o),
            (own.of_values, engines.damage_values_o),
            (own.area, engines.damage_where_o),
        ] {
            m.connect(to, from);
        }
        m.connect(own.linked, self.links);
        self.link(m, io, (&registers, &shell, &engines));
        shell.dmas.read_command.connect(m, &engines.read_command);
        engines.read.connect(m, &shell.dmas.read);
        engines.read_end.connect(m, &shell.dmas.read_end);
        shell.dmas.write_command.connect(m, &engines.write_command);
        shell.dmas.write.connect(m, &engines.write);
        engines.write_end.connect(m, &shell.dmas.write_end);

        let engine = self.spec.engine();
        let most = self.most_overflows().max(engine.capability() * engine.max_beats);
        let counters = m.instance("u_counters", EventCounters { counters: 5, most, ..EventCounters::default() });
        m.connect(counters.clear_i, shell.host.began_o);
        let width = bits_for(most.into());
        for (k, event, count) in [
            (0, engines.overflows_o, own.overflows),
            (1, engines.multiplications_o, own.multiplications),
            (2, engines.skipped_o, own.skipped),
            (3, engines.block_read_o, own.blocks_read),
            (4, engines.block_written_o, own.blocks_written),
        ] {
            m.connect(counters.event_i.at(k), event.extend(width));
            m.connect(count, counters.count_o.at(k));
        }
    }
}

/// The parts between registers and memory.
type Parts<'a> = (&'a TitanusRegistersPorts, &'a JobShellPorts, &'a TitanusEnginesPorts);

impl TitanusCore {
    /// Operations on their way from the shell to the engines, by the link where there is one.
    fn link(&self, m: &mut Module, io: &TitanusCorePorts, (registers, shell, engines): Parts<'_>) {
        let own = &registers.own;
        let (
            Some(prior_valid),
            Some(prior_last),
            Some(prior_ready),
            Some(next_valid),
            Some(next_last),
            Some(next_ready),
        ) = (io.prior_valid_i, io.prior_last_i, io.prior_ready_o, io.next_valid_o, io.next_last_o, io.next_ready_i)
        else {
            m.connect(shell.idle_i, engines.idle_o);
            m.connect(own.waiting, 0);
            m.connect(own.ended, 0);
            m.connect_stream(&engines.operation, &shell.operation);
            m.connect_stream(&shell.operation_end, &engines.operation_end);
            return;
        };
        let link = m.instance("u_link", JobLink { opcode: LINK, ..JobLink::default() });
        for (to, from) in [
            (link.clear_i, shell.abort_o),
            (link.limit_i, registers.shell.timeout),
            (shell.idle_i, engines.idle_o & link.idle_o),
            (own.waiting, link.tokens_o),
            (own.ended, link.ended_o),
            (link.prior.valid, prior_valid),
            (link.prior.last, prior_last),
            (prior_ready, link.prior.ready),
            (next_valid, link.next.valid),
            (next_last, link.next.last),
            (link.next.ready, next_ready),
        ] {
            m.connect(to, from);
        }
        m.connect_stream(&link.operation, &shell.operation);
        m.connect_stream(&shell.operation_end, &link.operation_end);
        m.connect_stream(&engines.operation, &link.other);
        m.connect_stream(&link.other_end, &engines.operation_end);
    }
}

impl CatalogBlock for TitanusCore {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let store = |(inputs, outputs), (rows, columns), (load, drain)| {
            let cells = DcimCells { inputs, outputs, ..DcimCells::default() };
            DcimLinear { tile: DcimMacro { cells, ..DcimMacro::default() }, rows, columns, load, drain }
        };
        let set = |data_width, address_width, burst_beats, spec| Self {
            axi: AxiSpec { address_width, data_width, id_width: 1 },
            dma: DmaSpec { burst_beats, ..DmaSpec::default() },
            max_beats: 16,
            spec,
            ..Self::default()
        };
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
        vec![set(32, 32, 4, small.clone()), Self { ports: 2, ..set(128, 40, 8, wide) }]
    }
}
