//! Disturbances of a job: resets of both kinds, and a memory that does not answer.

use golden::accelerators::job::{Accelerator, Executed, Report};
use rand::RngExt;
use sim::bus::{AxiMemory, Partner};
use sim::stimulus::StimulusRng;
use sim::{Run, Sim};

use super::register;
use super::state::Player;

/// How a job is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    None,
    /// So many cycles after its start.
    SoftReset(u64),
    /// The same by `rst_ni`, of memory too.
    Reset(u64),
    /// From a read or a write of this number on, memory is silent; then the answers come at last, or never.
    Silence {
        request: u64,
        reads: bool,
        answers: bool,
    },
}

impl Disturbance {
    pub(super) fn drawn(rng: &mut StimulusRng) -> Self {
        match rng.random_range(0..16u8) {
            0 | 1 => Self::SoftReset(rng.random_range(0..600)),
            2 => Self::Reset(rng.random_range(0..600)),
            kind @ (3 | 4) => {
                Self::Silence { request: rng.random_range(0..24), reads: rng.random(), answers: kind == 4 }
            }
            _ => Self::None,
        }
    }
}

impl<A: Accelerator + Clone> Player<A> {
    /// So many cycles.
    pub(super) fn pass(&mut self, sim: &mut Sim, bus: &mut AxiMemory, cycles: u64) -> sim::Result<()> {
        (0..cycles).try_for_each(|_| self.host.cycle(sim, &mut [&mut *bus]).map(drop))
    }

    /// By `rst_ni`: nothing stays.
    pub(super) fn reset(&mut self, sim: &mut Sim) -> sim::Result<()> {
        self.words = register::after_reset();
        self.golden = self.fresh.clone();
        sim.reset(2)
    }

    /// Memory owes answers to a job that has ended. Either they come now, and the next job finds everything as
    /// `ERROR_TIMEOUT` (13) leaves it. Or they never come, and both sides are reset.
    pub(super) fn owed(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        bus: &mut AxiMemory,
        answers: bool,
        (report, before): (&Report<A::Operation>, A),
    ) -> sim::Result<()> {
        if !answers {
            return self.reset(sim);
        }
        for port in &self.ports {
            let behaviour = bus.behaviour(port);
            (behaviour.silent_reads, behaviour.silent_writes) = (None, None);
        }
        let (begin, mut quiet) = (sim.cycle_count(), 0);
        while quiet < 64 {
            self.host.cycle(sim, &mut [bus])?;
            quiet = if bus.is_idle() { quiet + 1 } else { 0 };
            if sim.cycle_count() - begin > 50_000 {
                return run.expect_equal(sim, "mem", "answers that nobody takes", 0, 1);
            }
        }
        // What may have run after an error counts, too.
        let stays = |operations: &[Executed<A::Operation>]| operations.is_empty() || before.timed_out(operations);
        if report.is_certain() && before.timed_out(&report.executed) && stays(&report.perhaps) {
            self.golden = before;
            return Ok(());
        }
        self.soft_reset(sim, run, bus, 0)
    }

    /// Drops the job after so many cycles, and waits until that is done.
    pub(super) fn soft_reset(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        bus: &mut AxiMemory,
        after: u64,
    ) -> sim::Result<()> {
        self.pass(sim, bus, after)?;
        self.store(sim, bus, register::CONTROL, 2)?;
        let begin = sim.cycle_count();
        while self.load(sim, bus, register::CONTROL)? & 2 != 0 {
            if sim.cycle_count() - begin > 20_000 {
                return run.expect_equal(sim, "CONTROL", "a soft reset that does not end", 0, 1);
            }
        }
        self.golden = self.fresh.clone();
        run.expect_equal(sim, "mem", "idle after a soft reset", true, bus.is_idle())?;
        let status = self.load(sim, bus, register::STATUS)?;
        run.expect_equal(sim, "STATUS", "busy after a soft reset", 0, status & 1)
    }
}
