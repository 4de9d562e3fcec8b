//! What a player knows, and its way to the registers of the design.

use std::collections::{BTreeMap, BTreeSet};

use golden::accelerators::job::Accelerator;
use golden::common::shell::shell_registers::Bus;
use hdl::blocks::common::shell::JobShell;
use rand::RngExt;
use sim::bus::{AxiConfig, AxiLiteHost, AxiMemory, LiteConfig, Skew, Stalls};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Out, Run, Sim};

use super::facts::Facts;
use super::register;
use crate::draft::Operations;

/// Jobs with a changed bit for each job of another kind.
pub const CHANGED_JOBS: u64 = 4;

/// Prefixes of the ports to memory, for so many ports.
fn names(ports: u32) -> Vec<String> {
    if ports == 1 { vec!["mem".into()] } else { (0..ports).map(|port| format!("mem{port}")).collect() }
}

/// Plays jobs.
pub struct Player<A: Accelerator> {
    /// The model, with what it remembers of the jobs so far.
    pub(super) golden: A,
    /// As it is after a reset.
    pub(super) fresh: A,
    pub(super) facts: Facts<A::Operation>,
    pub(super) operations: Operations,
    /// By the number of an operation, the next change of its descriptor.
    pub(super) turns: BTreeMap<u8, u64>,
    pub(super) rng: StimulusRng,
    pub(super) host: AxiLiteHost,
    /// The host pauses.
    pub(super) pauses: bool,
    pub(super) irq: Out,
    pub(super) bus: Bus,
    /// Addresses at which there is a register.
    pub(super) mapped: BTreeSet<u64>,
    /// Prefixes of its ports to memory.
    pub(super) ports: Vec<String>,
    /// Of each, valid, cache and prot of reads, and of writes.
    pub(super) requests: Vec<[[Out; 3]; 2]>,
    /// Values of BUS and IRQ_ENABLE.
    pub(super) attributes: u64,
    pub(super) irq_enable: u64,
    /// Values of the registers that the host writes.
    pub(super) words: BTreeMap<u64, u64>,
    /// Jobs with a changed bit up to now, from where runs with lower seeds end.
    pub(super) changes: u64,
    /// When the last job was started, and whether STATUS says that a start was refused, where that is sure.
    pub(super) started: u64,
    pub(super) refused: Option<u64>,
}

impl<A: Accelerator + Clone> Player<A> {
    /// A player on a design after reset, with its model. The design has this shell, and registers at these addresses.
    ///
    /// # Errors
    /// The design has no such ports.
    pub(super) fn new(
        (golden, facts): (A, Facts<A::Operation>),
        (shell, mapped, operations): (&JobShell, BTreeSet<u64>, Operations),
        sim: &Sim,
        run: &Run,
    ) -> sim::Result<Self> {
        let ports = names(shell.ports);
        let channel = |name: String| -> sim::Result<[Out; 3]> {
            let port = |what: &str| sim.output(&format!("{name}{what}_o"));
            Ok([port("valid")?, port("cache")?, port("prot")?])
        };
        let both = |port: &String| Ok([channel(format!("{port}_ar"))?, channel(format!("{port}_aw"))?]);
        let requests = ports.iter().map(both).collect::<sim::Result<_>>()?;
        Ok(Self {
            fresh: golden.clone(),
            golden,
            facts,
            operations,
            turns: BTreeMap::new(),
            bus: Bus { address_width: shell.axi.address_width, data_width: shell.axi.data_width, ports: shell.ports },
            mapped,
            ports,
            requests,
            attributes: 0,
            irq_enable: 0,
            words: register::after_reset(),
            changes: run.seed().wrapping_mul(run.vectors()).wrapping_mul(CHANGED_JOBS),
            started: 0,
            refused: None,
            rng: run.rng("jobs"),
            pauses: false,
            host: AxiLiteHost::new(sim, "ctrl", LiteConfig::default(), run.seed())?,
            irq: sim.output("irq_o")?,
        })
    }

    /// From here on the host is plain.
    pub(super) fn plain_host(&mut self, sim: &Sim, run: &Run) -> sim::Result<()> {
        self.pauses = false;
        self.host = AxiLiteHost::new(sim, "ctrl", LiteConfig::default(), run.seed())?;
        Ok(())
    }

    /// From here on the host is plain, or it pauses, and sends address and data of a write apart.
    pub(super) fn other_host(&mut self, sim: &Sim, seed: u64) -> sim::Result<()> {
        let plain = LiteConfig::default();
        let some = self.rng.random_range(0..4);
        let skew = [Skew::Together, Skew::AddressFirst(some), Skew::DataFirst(some)][self.rng.random_range(0..3usize)];
        let stalls = Stalls::all(Stall::Random { num: 1, den: 3 });
        self.pauses = self.rng.random_range(0..3u8) == 0;
        let config = if self.pauses { LiteConfig { skew, stalls, ..plain } } else { plain };
        self.host = AxiLiteHost::new(sim, "ctrl", config, seed)?;
        Ok(())
    }

    /// How the bus behaves: quick, or in any way.
    pub(super) fn behaviour(&mut self) -> AxiConfig {
        match self.rng.random_range(0..4u8) {
            0 => AxiConfig::ideal(self.rng.random_range(1..30)),
            1 => AxiConfig::drawn(Stall::Never, &mut self.rng),
            _ => {
                let stall = Stall::Random { num: self.rng.random_range(1..12), den: 20 };
                AxiConfig::drawn(stall, &mut self.rng)
            }
        }
    }

    pub(super) fn store(&mut self, sim: &mut Sim, bus: &mut AxiMemory, at: u64, value: u64) -> sim::Result<()> {
        if let Some(word) = self.words.get_mut(&at) {
            *word = value;
        }
        self.host.store(sim, &mut [bus], at, value).map(|_| ())
    }

    pub(super) fn load(&mut self, sim: &mut Sim, bus: &mut AxiMemory, at: u64) -> sim::Result<u64> {
        Ok(self.host.load(sim, &mut [bus], at)?.0)
    }

    pub(super) fn load_wide(&mut self, sim: &mut Sim, bus: &mut AxiMemory, at: u64) -> sim::Result<u64> {
        Ok(self.load(sim, bus, at)? | self.load(sim, bus, at + 4)? << 32)
    }
}
