//! An accelerator in its shell, between a host and a memory. Jobs are right or wrong; buses stall, answer with errors
//! or not at all. Starts come while busy, and soft resets at any moment.

use std::collections::{BTreeMap, BTreeSet};

use golden::accelerators::job::{Accelerator, Operation, Report, run as run_golden};
use golden::accelerators::memory::BusError as GoldenError;
use golden::common::shell::shell_registers::Bus;
use hdl::blocks::common::shell::JobShell;
use rand::RngExt;
use sim::bus::{
    Access, AxiConfig, AxiLiteHost, AxiMemory, BusError, LiteConfig, Place, Response, Silence, Skew, Stalls,
};
use sim::stimulus::{Stall, StimulusRng};
use sim::{Out, Run, Sim};

use crate::program::Program;
use crate::timing::Waits;

mod bench;
mod disturbance;
mod edges;
mod end;
mod registers;

use disturbance::Disturbance;
use edges::Watched;

pub use bench::bench;

/// Bytes that a job may touch; such that touch more are left out.
const LONGEST: u64 = 1 << 17;

/// Registers that the bench uses, by the table of the shell.
pub mod register {
    /// The bytes SNBZ.
    pub const ID: u64 = 0x00;
    /// Of registers and descriptors, and the accelerator's number.
    pub const VERSION: u64 = 0x04;
    /// Start (bit 0) and soft reset (bit 1).
    pub const CONTROL: u64 = 0x08;
    /// Busy, done, error, refused.
    pub const STATUS: u64 = 0x0c;
    /// Their enable bits.
    pub const IRQ_ENABLE: u64 = 0x10;
    /// Cycles without an answer.
    pub const TIMEOUT: u64 = 0x14;
    /// Longest chain.
    pub const MAX_DESCRIPTORS: u64 = 0x18;
    /// Why the job ended.
    pub const ERROR_CODE: u64 = 0x1c;
    /// Where.
    pub const ERROR_WHERE: u64 = 0x20;
    /// The first descriptor.
    pub const JOB: u64 = 0x28;
    /// First byte of the window.
    pub const WINDOW_BASE: u64 = 0x30;
    /// Last byte of the window.
    pub const WINDOW_LIMIT: u64 = 0x38;
    /// The last tag.
    pub const TAG: u64 = 0x40;
    /// Completed descriptors.
    pub const DESCRIPTORS: u64 = 0x44;
    /// Attributes of requests: 4 bits of reads, 4 of writes, 3 of both.
    pub const BUS: u64 = 0x48;
    /// Bits of an address, ports, bits of a beat.
    pub const CAPS_BUS: u64 = 0x4c;
    /// Cycles of the job.
    pub const CYCLES: u64 = 0x80;
    /// Cycles in which the lanes or the array took work.
    pub const COMPUTE_CYCLES: u64 = 0x88;
    /// Beats that were read.
    pub const READ_BEATS: u64 = 0x90;
    /// Beats that were written.
    pub const WRITE_BEATS: u64 = 0x98;
    /// Cycles without a beat that was wanted.
    pub const READ_WAITS: u64 = 0xa0;
    /// Cycles in which some port offered a beat that was not taken.
    pub const WRITE_WAITS: u64 = 0xa8;
}

/// Jobs with a changed bit for each job of another kind.
pub const CHANGED_JOBS: u64 = 4;

/// Counts of a job by the model.
pub type Expected<O> = Box<dyn Fn(&Report<O>) -> u64>;

/// A counter of the accelerator's own: its register, and its value by the model.
pub struct Counter<O> {
    /// Name.
    pub name: &'static str,
    /// Offset.
    pub register: u64,
    /// Its count of a job that ended well.
    pub expected: Expected<O>,
}

/// Properties that differ between accelerators.
pub struct Facts<O> {
    /// Its number.
    pub number: u64,
    /// Registers that never change, with their values.
    pub constants: Vec<(u64, u64)>,
    /// Registers that count.
    pub counters: Vec<Counter<O>>,
    /// Names and addresses of counters that the model does not know: they keep their values from the end of a job on.
    pub kept: Vec<(&'static str, u64)>,
    /// Waits that the recurrence of its cycles does not know.
    pub waits: Waits,
}

/// Whether a second start comes in time to be refused: of a job that does something for a while.
fn is_long<O: Operation>(report: &Report<O>) -> bool {
    report.executed.iter().any(|executed| !executed.operation.repeats())
}

/// Prefixes of the ports to memory, for so many ports.
fn names(ports: u32) -> Vec<String> {
    if ports == 1 { vec!["mem".into()] } else { (0..ports).map(|port| format!("mem{port}")).collect() }
}

/// Plays jobs.
pub struct Player<A: Accelerator> {
    /// The model, with what it remembers of the jobs so far.
    golden: A,
    /// As it is after a reset.
    fresh: A,
    facts: Facts<A::Operation>,
    rng: StimulusRng,
    host: AxiLiteHost,
    /// The host pauses.
    pauses: bool,
    irq: Out,
    bus: Bus,
    /// Addresses at which there is a register.
    mapped: BTreeSet<u64>,
    /// Prefixes of its ports to memory.
    ports: Vec<String>,
    /// Of each, valid, cache and prot of reads, and of writes.
    requests: Vec<[[Out; 3]; 2]>,
    /// Values of BUS and IRQ_ENABLE.
    attributes: u64,
    irq_enable: u64,
    /// Values of the registers that the host writes.
    words: BTreeMap<u64, u64>,
    /// Jobs with a changed bit up to now, from where runs with lower seeds end.
    changes: u64,
    /// When the last job was started, and whether STATUS says that a start was refused, where that is sure.
    started: u64,
    refused: Option<u64>,
}

impl<A: Accelerator + Clone> Player<A> {
    /// A player on a design after reset, with its model. The design has this shell, and registers at these addresses.
    ///
    /// # Errors
    /// The design has no such ports.
    fn new(
        (golden, facts): (A, Facts<A::Operation>),
        (shell, mapped): (&JobShell, BTreeSet<u64>),
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
            bus: Bus { address_width: shell.axi.address_width, data_width: shell.axi.data_width, ports: shell.ports },
            mapped,
            ports,
            requests,
            attributes: 0,
            irq_enable: 0,
            words: registers::after_reset(),
            changes: run.seed().wrapping_mul(run.vectors()).wrapping_mul(CHANGED_JOBS),
            started: 0,
            refused: None,
            rng: run.rng("jobs"),
            pauses: false,
            host: AxiLiteHost::new(sim, "ctrl", LiteConfig::default(), run.seed())?,
            irq: sim.output("irq_o")?,
        })
    }

    /// Draws a job for what the model remembers, has it done, and compares.
    ///
    /// # Errors
    /// A mismatch, or a broken rule of the bus.
    pub fn job(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        number: u64,
        draw: impl FnOnce(&mut StimulusRng, &A) -> Program,
    ) -> sim::Result<()> {
        self.other_host(sim, run.seed() ^ number)?;
        let mut program = draw(&mut self.rng, &self.golden);
        if self.rng.random_range(0..3u8) == 0 {
            program = self.in_tight_window(program);
        }
        let mut bus = AxiMemory::new();
        for port in self.ports.clone() {
            let config = self.behaviour();
            bus.serve(sim, &port, &config, run.seed() ^ number)?;
        }
        bus.memory_mut().store(program.base, &program.image);
        let mut memory = Watched::of(&program);
        if self.rng.random_range(0..6u8) == 0 {
            let area = self.block_in_use(&program);
            let decode = self.rng.random();
            let (ours, theirs) = if decode {
                (GoldenError::Decode, Response::DecErr)
            } else {
                (GoldenError::Subordinate, Response::SlvErr)
            };
            memory.memory.fail(area.clone(), ours);
            let place = Place::Addresses(*area.start()..area.end().saturating_add(1));
            for port in &self.ports {
                let error = BusError { access: Access::Both, place: place.clone(), response: theirs };
                bus.behaviour(port).errors = vec![error];
            }
            program.plain = false;
        }
        let before = self.golden.clone();
        let report = run_golden(&self.golden, program.limits, program.job, &mut memory);
        // Where a bit of a spoilt chain makes tens of thousands of rows, the job would take longer than is waited for.
        if memory.bytes() > LONGEST {
            self.golden = before;
            return Ok(());
        }
        let disturbance = Disturbance::drawn(&mut self.rng);
        let mut timeout = [0, self.rng.random_range(400..2000)][usize::from(self.rng.random::<bool>())];
        if let Disturbance::Silence { request, reads, .. } = disturbance {
            timeout = self.rng.random_range(100..400);
            // One port alone, and all others answer.
            let port = if self.ports.len() == 1 { 0 } else { self.rng.random_range(0..self.ports.len()) };
            let behaviour = bus.behaviour(&self.ports[port]);
            let silence = Some(Silence::from(request));
            *(if reads { &mut behaviour.silent_reads } else { &mut behaviour.silent_writes }) = silence;
        }
        let long = is_long(&report);
        self.set_up(sim, run, &mut bus, (&program, timeout), long)?;
        self.start(sim, run, &mut bus, long)?;
        match disturbance {
            Disturbance::SoftReset(after) => {
                self.soft_reset(sim, run, &mut bus, after)?;
                // Bytes that the operations of the job cannot have changed stay.
                if report.is_certain() && before.dropped(&report.executed) {
                    self.golden = before;
                }
            }
            Disturbance::Reset(after) => {
                self.pass(sim, &mut bus, after)?;
                self.reset(sim)?;
            }
            _ => {
                if let Some(answers) = self.ends(sim, run, &mut bus, &report, disturbance)? {
                    self.owed(sim, run, &mut bus, answers, (&report, before))?;
                }
            }
        }
        self.compare(sim, run, &bus, (&program, &report, &memory), disturbance)?;
        self.forget(sim, run, &mut bus, &report)?;
        self.play_with_registers(sim, run, &mut bus)
    }

    /// Resets the design after a job that may have ended in several ways, since the model cannot know what it
    /// remembers.
    fn forget(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        bus: &mut AxiMemory,
        report: &Report<A::Operation>,
    ) -> sim::Result<()> {
        if self.golden.remembers() && !report.is_certain() { self.soft_reset(sim, run, bus, 0) } else { Ok(()) }
    }

    /// From here on the host is plain, or it pauses, and sends address and data of a write apart.
    fn other_host(&mut self, sim: &Sim, seed: u64) -> sim::Result<()> {
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
    fn behaviour(&mut self) -> AxiConfig {
        match self.rng.random_range(0..4u8) {
            0 => AxiConfig::ideal(self.rng.random_range(1..30)),
            1 => AxiConfig::drawn(Stall::Never, &mut self.rng),
            _ => {
                let stall = Stall::Random { num: self.rng.random_range(1..12), den: 20 };
                AxiConfig::drawn(stall, &mut self.rng)
            }
        }
    }

    fn store(&mut self, sim: &mut Sim, bus: &mut AxiMemory, at: u64, value: u64) -> sim::Result<()> {
        if let Some(word) = self.words.get_mut(&at) {
            *word = value;
        }
        self.host.store(sim, &mut [bus], at, value).map(|_| ())
    }

    fn load(&mut self, sim: &mut Sim, bus: &mut AxiMemory, at: u64) -> sim::Result<u64> {
        Ok(self.host.load(sim, &mut [bus], at)?.0)
    }

    fn load_wide(&mut self, sim: &mut Sim, bus: &mut AxiMemory, at: u64) -> sim::Result<u64> {
        Ok(self.load(sim, bus, at)? | self.load(sim, bus, at + 4)? << 32)
    }
}
