//! A chain in simulation: a host for each core, one memory on all ports, and neighbours at both ends of the links.

use std::collections::VecDeque;

use golden::common::shell::job_link::Token;
use host::Bus;
use sim::bus::{AxiLiteHost, AxiMemory, LiteConfig, Partner, Response};
use sim::stimulus::{Stall, StallPattern};
use sim::{In, Out, Run, Sim};

use jobs::hardware::HardwareError;
use jobs::player::register;
use jobs::program::Program;

/// Register of the tokens that wait.
pub const LINK: u64 = 0x160;

/// The neighbours: they give tokens to the first core and take tokens from the last core.
pub struct Neighbours {
    /// Tokens that will be offered.
    pub coming: VecDeque<Token>,
    /// Tokens that were taken.
    pub given: Vec<Token>,
    pauses: [StallPattern; 2],
    offers: bool,
    takes: bool,
    valid: In,
    last: In,
    ready: Out,
    next_valid: Out,
    next_last: Out,
    next_ready: In,
}

impl Neighbours {
    fn new(sim: &Sim, (stall, seed): (Stall, u64)) -> sim::Result<Self> {
        Ok(Self {
            coming: VecDeque::new(),
            given: Vec::new(),
            pauses: ["tokens that come", "tokens that go"].map(|label| stall.pattern(seed, label)),
            offers: false,
            takes: false,
            valid: sim.input("prior_valid_i")?,
            last: sim.input("prior_last_i")?,
            ready: sim.output("prior_ready_o")?,
            next_valid: sim.output("next_valid_o")?,
            next_last: sim.output("next_last_o")?,
            next_ready: sim.input("next_ready_i")?,
        })
    }
}

impl Partner for Neighbours {
    fn drive(&mut self, sim: &mut Sim) -> sim::Result<()> {
        // An offer stays.
        self.offers = !self.coming.is_empty() && (self.offers || !self.pauses[0].next_pause());
        self.takes = !self.pauses[1].next_pause();
        sim.poke_u64(self.valid, self.offers.into());
        sim.poke_u64(self.last, self.coming.front().is_some_and(|&last| last).into());
        sim.poke_u64(self.next_ready, self.takes.into());
        Ok(())
    }

    fn sample(&mut self, sim: &Sim) -> sim::Result<bool> {
        let came = self.offers && sim.peek_u64(self.ready) == 1;
        if came {
            self.coming.pop_front();
            self.offers = false;
        }
        let went = self.takes && sim.peek_u64(self.next_valid) == 1;
        if went {
            self.given.push(sim.peek_u64(self.next_last) == 1);
        }
        Ok(came || went)
    }

    fn is_idle(&self) -> bool {
        self.coming.is_empty()
    }

    fn state(&self) -> String {
        format!("{} tokens for the first core", self.coming.len())
    }
}

/// The hosts, the memory and the neighbours.
pub struct Cores {
    /// Memory of all.
    pub memory: AxiMemory,
    /// The neighbours at the ends of the links.
    pub neighbours: Neighbours,
    hosts: Vec<AxiLiteHost>,
    irq: Out,
}

impl Cores {
    /// Hosts of so many cores with a memory that serves their ports already.
    ///
    /// # Errors
    /// The design has no such ports.
    pub fn new(sim: &Sim, memory: AxiMemory, cores: usize, (stall, seed): (Stall, u64)) -> sim::Result<Self> {
        let host = |k| AxiLiteHost::new(sim, &format!("ctrl{k}"), LiteConfig::default(), seed);
        let hosts = (0..cores).map(host).collect::<sim::Result<_>>()?;
        Ok(Self { memory, neighbours: Neighbours::new(sim, (stall, seed))?, hosts, irq: sim.output("irq_o")? })
    }

    /// One cycle.
    ///
    /// # Errors
    /// A broken rule of a bus.
    pub fn cycle(&mut self, sim: &mut Sim) -> sim::Result<()> {
        sim::bus::cycle(sim, &mut [&mut self.memory, &mut self.neighbours]).map(|_| ())
    }

    /// The interrupts, a core a bit.
    #[must_use]
    pub fn interrupts(&self, sim: &Sim) -> u64 {
        sim.peek_u64(self.irq)
    }

    /// Writes a register.
    ///
    /// # Errors
    /// A broken rule of a bus.
    pub fn store(&mut self, sim: &mut Sim, core: usize, at: u64, value: u64) -> sim::Result<Response> {
        self.hosts[core].store(sim, &mut [&mut self.memory, &mut self.neighbours], at, value)
    }

    /// Reads a register.
    ///
    /// # Errors
    /// A broken rule of a bus.
    pub fn load(&mut self, sim: &mut Sim, core: usize, at: u64) -> sim::Result<u64> {
        Ok(self.hosts[core].load(sim, &mut [&mut self.memory, &mut self.neighbours], at)?.0)
    }

    /// Writes the registers for a job, except its start; the interrupt shows its end.
    ///
    /// # Errors
    /// A broken rule of a bus.
    pub fn set_up(&mut self, sim: &mut Sim, core: usize, program: &Program) -> sim::Result<()> {
        self.store(sim, core, register::STATUS, 0xe)?;
        self.store(sim, core, register::IRQ_ENABLE, 6)?;
        self.store(sim, core, register::MAX_DESCRIPTORS, program.limits.max_descriptors.into())?;
        for (at, value) in [
            (register::JOB, program.job),
            (register::WINDOW_BASE, program.limits.base),
            (register::WINDOW_LIMIT, program.limits.limit),
        ] {
            self.store(sim, core, at, value & 0xffff_ffff)?;
            self.store(sim, core, at + 4, value >> 32)?;
        }
        Ok(())
    }

    /// Drops the work and the state of a core.
    ///
    /// # Errors
    /// It does not end; a broken rule of a bus.
    pub fn soft_reset(&mut self, sim: &mut Sim, run: &mut Run, core: usize) -> sim::Result<()> {
        self.store(sim, core, register::CONTROL, 2)?;
        let begin = sim.cycle_count();
        while self.load(sim, core, register::CONTROL)? & 2 != 0 {
            if sim.cycle_count() - begin > 20_000 {
                return run.expect_equal(sim, "CONTROL", "a soft reset that does not end", 0, 1);
            }
        }
        Ok(())
    }
}

/// One of the cores, as its driver sees it.
pub struct Core<'a> {
    /// The design.
    pub sim: &'a mut Sim,
    /// All of them.
    pub cores: &'a mut Cores,
    /// Its number.
    pub number: usize,
}

impl Bus for Core<'_> {
    type Error = HardwareError;

    fn read32(&mut self, offset: u32) -> Result<u32, HardwareError> {
        let Cores { memory, neighbours, hosts, .. } = &mut *self.cores;
        match hosts[self.number].load(self.sim, &mut [memory, neighbours], offset.into())? {
            (value, Response::Okay) => Ok(value as u32),
            (_, response) => Err(HardwareError::Register(offset, response)),
        }
    }

    fn write32(&mut self, offset: u32, value: u32) -> Result<(), HardwareError> {
        match self.cores.store(self.sim, self.number, offset.into(), value.into())? {
            Response::Okay => Ok(()),
            response => Err(HardwareError::Register(offset, response)),
        }
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), HardwareError> {
        self.cores.memory.memory().load(address, bytes);
        Ok(())
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), HardwareError> {
        self.cores.memory.memory_mut().store(address, bytes);
        Ok(())
    }
}
