//! The actions after an error, a soft reset, or the end of a job.

use golden::common::shell::job_controller as model;
use rand::RngExt;
use sim::{Run, Sim};

use super::{Disturbance, Phase, Plan, Player};

impl Player {
    /// The first cycle of an abort, up to where the controller is idle.
    pub(super) fn aborts(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        plan: &mut Plan,
        mut phase: Phase,
    ) -> sim::Result<()> {
        let silent = matches!(plan.disturbance, Disturbance::Silence(at) if plan.begun > at);
        let mut left = if silent { 25 } else { self.rng.random_range(0..6u32) };
        let mut first = true;
        plan.owed = None;
        loop {
            let reset = self.rng.random_range(0..16u8) == 0;
            let start = self.rng.random_range(0..3u8) == 0;
            self.noise(sim, plan, false);
            let p = self.pins;
            // Ends that were on their way.
            for end in [p.fetch_end_valid_i, p.write_end_valid_i, p.operation_end_valid_i] {
                sim.poke_u64(end, self.rng.random_range(0..2));
            }
            sim.poke_u64(p.idle_i, (left == 0).into());
            sim.poke_u64(p.soft_reset_i, reset.into());
            sim.poke_u64(p.start_i, start.into());
            sim.settle()?;
            run.expect_u64(sim, p.abort_o, 1)?;
            run.expect_u64(sim, p.done_o, 0)?;
            run.expect_u64(sim, p.began_o, 0)?;
            run.expect_u64(sim, p.refused_o, start.into())?;
            run.expect_u64(sim, p.busy_o, (phase == Phase::Drains).into())?;
            run.expect_u64(sim, p.soft_reset_busy_o, (phase == Phase::Flushes).into())?;
            let error = phase == Phase::Drains && !reset && (left == 0 || silent && first);
            run.expect_u64(sim, p.error_o, error.into())?;
            sim.tick()?;
            if error || phase == Phase::Drains && first {
                self.why(sim, run, plan, silent)?;
            }
            if left == 0 && !reset {
                return Ok(());
            }
            if reset || error {
                phase = Phase::Flushes;
            }
            first = false;
            left = left.saturating_sub(1);
        }
    }

    /// A soft reset while no job runs, perhaps with a start, which is refused.
    pub(super) fn idle_reset(&mut self, sim: &mut Sim, run: &mut Run, plan: &mut Plan) -> sim::Result<()> {
        self.noise(sim, plan, false);
        let (p, start) = (self.pins, self.rng.random::<bool>());
        sim.poke_u64(p.start_i, start.into());
        sim.poke_u64(p.soft_reset_i, 1);
        sim.poke_u64(p.idle_i, self.rng.random_range(0..2));
        sim.settle()?;
        run.expect_u64(sim, p.refused_o, start.into())?;
        for low in [p.began_o, p.busy_o, p.abort_o, p.done_o, p.error_o, p.soft_reset_busy_o] {
            run.expect_u64(sim, low, 0)?;
        }
        sim.tick()?;
        self.aborts(sim, run, plan, Phase::Flushes)
    }

    /// Code and place of the error.
    pub(super) fn why(&mut self, sim: &Sim, run: &mut Run, plan: &Plan, silent: bool) -> sim::Result<()> {
        let p = self.pins;
        if silent {
            return run.expect_u64(sim, p.error_code_o, model::code::TIMEOUT.into());
        }
        run.expect_equal(sim, "error_o", "actions that are missing", 0, plan.actions.len())?;
        run.expect_u64(sim, p.error_code_o, plan.end.code.into())?;
        run.expect_u64(sim, p.error_where_o, plan.end.place)
    }

    /// Some cycles between jobs; counters stay.
    pub(super) fn rests(&mut self, sim: &mut Sim, run: &mut Run, plan: &Plan) -> sim::Result<()> {
        let mut idle = plan.clone();
        for _ in 0..self.rng.random_range(0..4u8) {
            self.quiet_cycle(sim, run, &mut idle, false)?;
        }
        if self.rng.random_range(0..4u8) == 0 {
            self.idle_reset(sim, run, &mut idle)?;
        }
        if matches!(plan.disturbance, Disturbance::None | Disturbance::Quick) {
            run.expect_u64(sim, self.pins.tag_o, plan.end.tag.into())?;
            run.expect_u64(sim, self.pins.descriptors_o, plan.end.descriptors.into())?;
        }
        Ok(())
    }
}
