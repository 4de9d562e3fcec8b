//! An accelerator in its shell, between a host and a memory. Jobs are right or wrong; buses stall, answer with errors
//! or not at all. Starts come while busy, and soft resets at any moment.

use golden::accelerators::job::{Accelerator, Executed, Operation, Report, run as run_golden};
use golden::accelerators::memory::BusError as GoldenError;
use rand::RngExt;
use sim::bus::{Access, AxiMemory, BusError, Place, Response, Silence};
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

use crate::program::Program;

mod bench;
mod disturbance;
mod edges;
mod end;
mod facts;
pub mod register;
mod registers;
mod state;
mod wrong_bits;

use disturbance::Disturbance;
use edges::Watched;

pub use bench::bench;
pub use facts::{Counter, Expected, Facts};
pub use state::{CHANGED_JOBS, Player};

/// Bytes that a job may touch; such that touch more are left out.
const LONGEST: u64 = 1 << 17;

/// Whether a second start comes in time to be refused: of a job that does something for a while.
fn is_long<O: Operation>(report: &Report<O>) -> bool {
    report.executed.iter().any(|executed| !executed.operation.repeats())
}

impl<A: Accelerator + Clone> Player<A> {
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
                let stays = |operations: &[Executed<A::Operation>]| operations.is_empty() || before.dropped(operations);
                if report.is_certain() && before.dropped(&report.executed) && stays(&report.perhaps) {
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

    /// Resets the design after a job that may have ended in several ways, or after whose end operations may have run, since
    /// the model cannot know what it remembers.
    fn forget(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        bus: &mut AxiMemory,
        report: &Report<A::Operation>,
    ) -> sim::Result<()> {
        let known = report.is_certain() && report.perhaps.is_empty();
        if self.golden.remembers() && !known { self.soft_reset(sim, run, bus, 0) } else { Ok(()) }
    }
}
