//! Jobs at the limits: windows that end where the job does, jobs with one flipped bit, errors of the bus at addresses
//! that the job uses.

use std::ops::RangeInclusive;

use golden::accelerators::job::{Accelerator, Report, run as run_golden};
use golden::accelerators::memory::{BusError as GoldenError, Memory, SparseMemory};
use rand::RngExt;
use sim::bus::{AxiConfig, AxiMemory};
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

use super::disturbance::Disturbance;
use super::state::{CHANGED_JOBS, Player};
use crate::draft::Draft;
use crate::program::{BITS, Program};

/// Bytes that a job with a changed bit may touch; such that touch more are left out.
const MOST: u64 = 1 << 13;

/// Step from one changed bit to the next. It has no common factor with [`BITS`], so that every bit has its turn.
const STEP: u64 = 389;

/// Draws of a job at most, until one is right.
const DRAWS: u64 = 4;

/// A memory that remembers its requests.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub memory: SparseMemory,
    /// Bytes that were read, access by access.
    pub read: Vec<RangeInclusive<u64>>,
    /// And bytes that were written.
    pub written: Vec<RangeInclusive<u64>>,
}

impl Watched {
    /// The memory of a job.
    pub fn of(program: &Program) -> Self {
        let mut memory = SparseMemory::new();
        memory.store(program.base, &program.image);
        Self { memory, read: Vec::new(), written: Vec::new() }
    }

    /// Bytes of all accesses.
    pub fn bytes(&self) -> u64 {
        self.touched().map(|range| range.end() - range.start() + 1).sum()
    }

    fn touched(&self) -> impl Iterator<Item = &RangeInclusive<u64>> {
        self.read.iter().chain(&self.written)
    }
}

fn range(address: u64, bytes: usize) -> RangeInclusive<u64> {
    address..=address.saturating_add(bytes as u64 - 1)
}

impl Memory for Watched {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), GoldenError> {
        self.read.push(range(address, bytes.len()));
        self.memory.read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), GoldenError> {
        self.written.push(range(address, bytes.len()));
        self.memory.write(address, bytes)
    }
}

impl<A: Accelerator + Clone> Player<A> {
    /// The report of the model on a job, and the addresses that the job would touch.
    fn foresee(&self, program: &Program) -> (Report<A::Operation>, Watched) {
        let mut memory = Watched::of(program);
        (run_golden(&self.golden.clone(), program.limits, program.job, &mut memory), memory)
    }

    /// The job in a window that just holds all addresses that it touches. Addresses beyond the bus do not matter:
    /// sometimes the window goes on there.
    pub(super) fn in_tight_window(&mut self, mut program: Program) -> Program {
        let (_, memory) = self.foresee(&program);
        let first = memory.touched().map(|range| *range.start()).min();
        let last = memory.touched().map(|range| *range.end()).max();
        if let (Some(first), Some(last)) = (first, last) {
            program.limits.base = first;
            program.limits.limit = last;
        }
        let width = self.golden.address_width();
        if width < 64 && self.rng.random_range(0..3u8) == 0 {
            program.limits.limit = match self.rng.random() {
                true => 1 << self.rng.random_range(width..64),
                false => program.limits.limit | self.rng.random::<u64>() << width,
            };
        }
        program
    }

    /// 64 bytes, mostly such that the job touches.
    pub(super) fn block_in_use(&mut self, program: &Program) -> RangeInclusive<u64> {
        let (_, memory) = self.foresee(program);
        let touched: Vec<&RangeInclusive<u64>> = memory.touched().collect();
        if touched.is_empty() || self.rng.random_range(0..4u8) == 0 {
            return program.any_block(&mut self.rng);
        }
        let range = touched[self.rng.random_range(0..touched.len())];
        let first = self.rng.random_range(range.clone()) & !63;
        first..=first + 63
    }

    /// Changes the first descriptor in the next way that the table of its operation asks for, in a window that just holds
    /// either the job before, so that rows which now lie elsewhere are refused, or the job after, so that only the right
    /// rows fit.
    fn varied(&mut self, mut program: Program, mut draft: Draft) -> Program {
        let first = self.rng.random::<u32>();
        let turn = self.turns.entry(draft.opcode()).or_insert_with(|| first.into());
        *turn += 1;
        let moves = draft.vary(*turn);
        let before = self.rng.random();
        if before {
            program = self.in_tight_window(program);
        }
        *program.first() = draft.bytes();
        if before {
            return program;
        }
        // A changed size may need a whole memory, a changed place does not.
        if moves {
            program.open();
        }
        self.in_tight_window(program)
    }

    /// Jobs in tight windows of which something is changed, each time something else, before a quick memory: mostly a field
    /// of the first descriptor, otherwise a bit of its header, of JOB or of the window.
    ///
    /// # Errors
    /// A mismatch, or a broken rule of the bus.
    pub fn changed_jobs(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        mut draw: impl FnMut(&mut StimulusRng, &A) -> Program,
    ) -> sim::Result<()> {
        for _ in 0..CHANGED_JOBS {
            let mut program = draw(&mut self.rng, &self.golden);
            // What is wrong already hides a change.
            for _ in 0..DRAWS {
                if self.foresee(&program).0.end.code == 0 {
                    break;
                }
                program = draw(&mut self.rng, &self.golden);
            }
            let draft = self.operations.read(*program.first());
            match draft.filter(|_| !self.changes.is_multiple_of(4)) {
                Some(draft) => program = self.varied(program, draft),
                None => {
                    program = self.in_tight_window(program);
                    program.change((self.changes / 4).wrapping_mul(STEP) % BITS);
                }
            }
            self.changes = self.changes.wrapping_add(1);
            let before = self.golden.clone();
            let mut memory = Watched::of(&program);
            let report = run_golden(&self.golden, program.limits, program.job, &mut memory);
            if memory.bytes() > MOST {
                self.golden = before;
                continue;
            }
            let mut bus = AxiMemory::new();
            let config = AxiConfig::ideal(self.rng.random_range(1..4));
            for port in &self.ports {
                bus.serve(sim, port, &config, run.seed())?;
            }
            bus.memory_mut().store(program.base, &program.image);
            self.set_up(sim, run, &mut bus, (&program, 0), false)?;
            self.start(sim, run, &mut bus, false)?;
            self.ends(sim, run, &mut bus, &report, Disturbance::None)?;
            self.compare(sim, run, &bus, (&program, &report, &memory), Disturbance::None)?;
            self.forget(sim, run, &mut bus, &report)?;
            self.play_with_registers(sim, run, &mut bus)?;
        }
        Ok(())
    }
}
