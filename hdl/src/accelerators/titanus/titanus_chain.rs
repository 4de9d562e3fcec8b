//! Titanus cores in a chain: each gives tokens to the next one.

use super::titanus_core::TitanusCore;
use super::titanus_spec::TitanusSpec;
use crate::accelerators::top::TopParameters;
use crate::accelerators::vector::VectorParameters;
use crate::blocks::common::bus::axi::AxiManagers;
use crate::blocks::common::bus::{AxiLiteSubordinates, AxiSpec, DmaSpec};
use crate::blocks::titanus::{DcimCells, DcimLinear, DcimMacro};
use crate::lang::{About, Block, CatalogBlock, In, Module, Out, OutArray, bit, parameters, ports};

parameters! {
    /// Elaboration parameters.
    pub struct TitanusChain {
        /// Cores.
        cores: u32 = 2, in 1..=32, note "with all of their ports to memory at most 32", tag "n";
        /// Each of them.
        core: TitanusCore = TitanusCore { links: 1, ..TitanusCore::default() };
    }
    rules = |p, rules| {
        rules.demand(p.core.links == 1, "core.links", p.core.links, "1");
        rules.demand(p.cores * p.core.bus.ports <= 32, "cores", p.cores, "32 ports to memory at most");
    };
}

ports! {
    /// Ports of [`TitanusChain`].
    pub struct TitanusChainPorts(p: &TitanusChain) {
        /// Buses of the host: core n has the n-th.
        ctrl: AxiLiteSubordinates = (p.cores, 12),
        /// Memory: core n has as many ports as a core has, from n times that on.
        mem: AxiManagers = (p.cores * p.core.bus.ports, p.core.port()),
        /// A token for the first core is offered.
        prior_valid_i: In = bit(),
        /// It is the last one of a piece of work.
        prior_last_i: In = bit(),
        /// The token is taken at the coming edge, when it is valid.
        prior_ready_o: Out = bit(),
        /// A token of the last core is offered; its soft reset, its error or the end of its time takes it back.
        next_valid_o: Out = bit(),
        /// It is the last one of a piece of work.
        next_last_o: Out = bit(),
        /// The token is taken at the coming edge, when it is valid.
        next_ready_i: In = bit(),
        /// Per core, level: an enabled bit of its STATUS is set.
        irq_o: OutArray = bit().array(p.cores),
    }
}

impl Block for TitanusChain {
    type Ports = TitanusChainPorts;
    const ABOUT: About = About {
        name: "titanus_chain",
        summary: "Titanus cores in a chain, rows from core to core through memory as soon as they are there",
        contract: "Each core is a titanus_core with registers, jobs and ports of its own; core n + 1 takes the\n\
            tokens that core n gives. Data that a core has written before it gives a token is in memory when the\n\
            next core has taken the token. A core that fails or is reset keeps no tokens. The others go on. They\n\
            wait for missing tokens as long as their operations say, or their TIMEOUT.",
        reference: "Titanus, section 4.5",
    };

    fn build(&self, m: &mut Module, io: &TitanusChainPorts) {
        let ports = self.core.bus.ports as usize;
        let mut before = (io.prior_valid_i, io.prior_last_i, io.prior_ready_o);
        for (n, ctrl) in io.ctrl.iter().enumerate() {
            let core = m.instance(&format!("u_core_{n}"), self.core.clone());
            core.top.ctrl.connect(m, ctrl);
            for (to, from) in io.mem[n * ports..(n + 1) * ports].iter().zip(&core.top.mem) {
                to.connect(m, from);
            }
            m.connect(io.irq_o.at(n as u32), core.top.irq_o);
            let links = core.prior_valid_i.zip(core.prior_last_i).zip(core.prior_ready_o);
            let behind = core.next_valid_o.zip(core.next_last_o).zip(core.next_ready_i);
            let (Some(((valid, last), ready)), Some(((next_valid, next_last), next_ready))) = (links, behind) else {
                return;
            };
            m.connect(valid, before.0);
            m.connect(last, before.1);
            m.connect(before.2, ready);
            before = (next_valid, next_last, next_ready);
        }
        m.connect(io.next_valid_o, before.0);
        m.connect(io.next_last_o, before.1);
        m.connect(before.2, io.next_ready_i);
    }
}

impl CatalogBlock for TitanusChain {
    const IS_ACCELERATOR: bool = true;

    fn configurations() -> Vec<Self> {
        let cells = DcimCells { inputs: 8, outputs: 4, ..DcimCells::default() };
        let tile = DcimMacro { cells, ..DcimMacro::default() };
        let spec = TitanusSpec {
            store: DcimLinear { tile, rows: 2, columns: 2, load: 4, drain: 2 },
            constants: 24,
            lanes: 4,
            tiles: 2,
            levels: 4,
            context: 10,
            engines: 1,
            buffer: 4,
        };
        let core = TitanusCore {
            bus: TopParameters {
                axi: AxiSpec { address_width: 32, data_width: 32, id_width: 1 },
                dma: DmaSpec { burst_beats: 4, ..DmaSpec::default() },
                ..TopParameters::default()
            },
            vector: VectorParameters { max_beats: 16, ..VectorParameters::all() },
            spec,
            links: 1,
        };
        vec![
            Self { cores: 2, core: core.clone() },
            Self {
                cores: 3,
                core: TitanusCore { bus: TopParameters { ports: 2, overlaps: true, ..core.bus.clone() }, ..core },
            },
        ]
    }
}
