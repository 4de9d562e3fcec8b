//! One row at a time, and nobody else who wants the banks: how soon a row is refreshed once it is due.

use super::ports::Ports;
use golden::kelle::refresh_controller::{Intervals, Limits};
use hdl::blocks::kelle::RefreshController;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Difference, Run, Sim};

pub(super) struct Alone {
    rows: usize,
    limits: Limits,
    longest: u64,
    ports: Ports,
    rng: StimulusRng,
    valid: Vec<bool>,
    high: Vec<bool>,
}

impl Alone {
    pub(super) fn new(p: &RefreshController, limits: Limits, sim: &Sim, run: &Run) -> sim::Result<Self> {
        Ok(Self {
            rows: p.rows as usize,
            limits,
            longest: (1u64 << p.interval_width) - 1,
            ports: Ports::find(sim)?,
            rng: run.rng("alone"),
            valid: vec![false; p.rows as usize],
            high: vec![false; p.rows as usize],
        })
    }

    pub(super) fn run(mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        run.reset(sim, 1)?;
        self.idle(sim);
        // Each takes rounds over all rows.
        let most = 4 + (1 << 26) / (self.rows * self.rows) as u64;
        for vector in 0..run.vectors().div_ceil(8).min(most) {
            // Enough patience for a promotion, and two intervals so far apart that it matters.
            match (vector % 4, self.limits.patience >= 8) {
                (1, true) => self.promoted(sim, run)?,
                (3, true) => self.promoted_meanwhile(sim, run)?,
                (2, _) => self.waits(sim, run)?,
                _ => self.due(sim, run)?,
            }
        }
        Ok(())
    }

    /// Nobody wants the banks, and nothing is reported; the fields are noise.
    fn idle(&mut self, sim: &mut Sim) {
        let ports = &self.ports;
        ports.show(sim, &self.valid, &self.high);
        for port in [ports.access_valid, ports.promoted_valid, ports.config_valid] {
            sim.poke_u64(port, 0);
        }
        sim.poke_u64(ports.access_write, self.rng.random::<bool>().into());
        sim.poke_u64(ports.access_row, self.rng.random_range(0..self.rows as u64));
        sim.poke_u64(ports.promoted_row, self.rng.random_range(0..self.rows as u64));
        sim.poke_u64(ports.config_high, self.rng.random_range(0..=self.longest));
        sim.poke_u64(ports.config_low, self.rng.random_range(0..=self.longest));
    }

    fn only(&self, row: usize) -> Vec<bool> {
        (0..self.rows).map(|r| r == row).collect()
    }

    /// Only `row` is valid, of this class; it is written in the last cycle.
    fn begin(&mut self, sim: &mut Sim, run: &Run, row: usize, high: bool, intervals: Intervals) -> sim::Result<()> {
        // A refresh under way ends first, and the patience is renewed.
        self.valid.fill(false);
        for _ in 0..3 * self.rows + 4 + self.rng.random_range(0..2 * self.rows) {
            self.idle(sim);
            sim.tick()?;
        }
        sim.poke_u64(self.ports.config_valid, 1);
        sim.poke_u64(self.ports.config_high, intervals.high);
        sim.poke_u64(self.ports.config_low, intervals.low);
        sim.tick()?;
        // The class of the others is noise.
        let others = self.rng.random();
        let class = |r: usize| if r == row { high } else { others };
        self.high = (0..self.rows).map(class).collect();
        self.valid = self.only(row);
        self.write(sim, run, row)
    }

    /// Writes a row in the next cycle in which it can be.
    fn write(&mut self, sim: &mut Sim, run: &Run, row: usize) -> sim::Result<()> {
        for _ in 0..3 {
            self.idle(sim);
            self.access(sim, row, true);
            sim.settle()?;
            let taken = sim.peek_u64(self.ports.access_ready) != 0;
            sim.tick()?;
            if taken {
                self.idle(sim);
                return Ok(());
            }
        }
        let problem = "an access waits for a third cycle".to_owned();
        Err(run.fail(sim.cycle_count(), Difference::Protocol { port: "access_ready_o".into(), problem }))
    }

    fn access(&self, sim: &mut Sim, row: usize, write: bool) {
        sim.poke_u64(self.ports.access_valid, 1);
        sim.poke_u64(self.ports.access_write, write.into());
        sim.poke_u64(self.ports.access_row, row as u64);
    }

    /// Idle cycles after the write of `row` until the controller is sure that it is due. Whether it is looked at in the last one, or was
    /// refreshed before: stamps may say so up to a unit earlier.
    fn is_early(&mut self, sim: &mut Sim, run: &mut Run, row: usize, interval: u64) -> sim::Result<bool> {
        let unit = self.limits.unit;
        for _ in 1..interval + if unit == 1 { 0 } else { unit } {
            self.idle(sim);
            sim.settle()?;
            let reads = sim.peek_u64(self.ports.refresh_read) != 0;
            sim.tick()?;
            if reads {
                self.written_back(sim, run, row)?;
                return Ok(true);
            }
        }
        Ok(sim.peek_u64(self.ports.refresh_row) == row as u64)
    }

    /// Idle cycles until `row` is looked at, which is less than a round away.
    fn until_looked_at(&mut self, sim: &mut Sim, run: &mut Run, row: usize) -> sim::Result<()> {
        for _ in 0..self.rows {
            if sim.peek_u64(self.ports.refresh_row) == row as u64 {
                return Ok(());
            }
            self.idle(sim);
            sim.settle()?;
            run.expect_u64(sim, self.ports.refresh_read, 0)?;
            sim.tick()?;
        }
        run.expect_u64(sim, self.ports.refresh_row, row as u64)
    }

    /// The cycles until `row` is read for its refresh, this one being `from`; at most `most`, not before `least`.
    fn refreshed(&mut self, sim: &mut Sim, run: &Run, row: usize, from: u64, most: u64) -> sim::Result<u64> {
        for cycle in from..=most {
            self.idle(sim);
            sim.settle()?;
            let (read, write) = (sim.peek_u64(self.ports.refresh_read), sim.peek_u64(self.ports.refresh_write));
            let at = sim.peek_u64(self.ports.refresh_row);
            let wrong = |problem: String| {
                run.fail(sim.cycle_count(), Difference::Protocol { port: "refresh_row_o".into(), problem })
            };
            if write != 0 || read != 0 && at != row as u64 {
                return Err(wrong(format!("row {at} is refreshed, only {row} is valid and none was read")));
            }
            sim.tick()?;
            if read != 0 {
                return Ok(cycle);
            }
        }
        let problem = format!("row {row}, left alone, is not refreshed {most} cycles after its write or promotion");
        Err(run.fail(sim.cycle_count(), Difference::Protocol { port: "refresh_read_o".into(), problem }))
    }

    /// The write-back follows at once.
    fn written_back(&mut self, sim: &mut Sim, run: &mut Run, row: usize) -> sim::Result<()> {
        self.idle(sim);
        sim.settle()?;
        run.expect_u64(sim, self.ports.refresh_write, 1)?;
        run.expect_u64(sim, self.ports.refresh_row, row as u64)?;
        sim.tick()
    }

    /// A row of constant class becomes due.
    fn due(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let shortest = self.limits.shortest_interval();
        let most = (2 * shortest + 2 * self.limits.unit).min(self.longest);
        let asked =
            Intervals { high: self.rng.random_range(shortest..=most), low: self.rng.random_range(shortest..=most) };
        let row = self.rng.random_range(0..self.rows);
        let high: bool = self.rng.random();
        self.begin(sim, run, row, high, asked)?;
        let kept = self.limits.accepted(asked).unwrap_or(asked);
        let interval = if high { kept.high } else { kept.low };
        // In the cycle after the write the row is 1 cycle old.
        let age = self.refreshed(sim, run, row, 1, interval + self.limits.until_read())?;
        run.expect_equal(sim, "refresh_read_o", &format!("row {row}, age {age}: due"), true, age >= interval)?;
        self.written_back(sim, run, row)
    }

    /// A row with a long interval is promoted when it is older than the short one.
    fn promoted(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let asked = Intervals { high: self.limits.shortest_interval(), low: self.longest };
        let kept = self.limits.accepted(asked).unwrap_or(asked);
        let least = kept.high + self.limits.unit;
        let row = self.rng.random_range(0..self.rows);
        if least + 2 >= kept.low {
            return Ok(());
        }
        self.begin(sim, run, row, false, asked)?;
        let age = self.rng.random_range(least..kept.low.min(least + 3 * self.rows as u64));
        for _ in 1..age {
            self.idle(sim);
            sim.settle()?;
            run.expect_u64(sim, self.ports.refresh_read, 0)?;
            sim.tick()?;
        }
        self.high = self.only(row);
        self.idle(sim);
        sim.poke_u64(self.ports.promoted_valid, 1);
        sim.poke_u64(self.ports.promoted_row, row as u64);
        sim.settle()?;
        run.expect_u64(sim, self.ports.refresh_read, 0)?;
        sim.tick()?;
        self.refreshed(sim, run, row, 1, Limits::UNTIL_PROMOTED_IS_READ)?;
        self.written_back(sim, run, row)
    }

    /// A row becomes due while others want the banks. Its refresh waits for them as long as the contract says. Then
    /// they wait for the refresh, and the walk goes on.
    fn waits(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let shortest = self.limits.shortest_interval();
        let row = self.rng.random_range(0..self.rows);
        self.begin(sim, run, row, true, Intervals { high: shortest, low: shortest })?;
        let kept = self.limits.accepted(Intervals { high: shortest, low: shortest }).map_or(shortest, |kept| kept.high);
        if self.is_early(sim, run, row, kept)? {
            return Ok(());
        }
        self.until_looked_at(sim, run, row)?;
        // In all cycles, or in some: a half of a refresh takes the first one that is free.
        let always = self.rng.random::<bool>();
        let (mut left, mut halves) = (self.limits.patience.max(2) - 2, 0);
        let mut looked = false;
        while halves < 2 {
            let wanted = always || self.rng.random_range(0..4u8) > 0;
            self.idle(sim);
            if wanted {
                // Not the row itself: a write would make it young.
                let other = (row + self.rng.random_range(1..self.rows)) % self.rows;
                let write = self.rng.random();
                self.access(sim, other, write);
            }
            sim.settle()?;
            let goes = looked && (!wanted || left == 0);
            let waits = looked && left == 0;
            run.expect_u64(sim, self.ports.access_ready, (!waits).into())?;
            run.expect_u64(sim, self.ports.refresh_read, (goes && halves == 0).into())?;
            run.expect_u64(sim, self.ports.refresh_write, (goes && halves == 1).into())?;
            run.expect_u64(sim, self.ports.refresh_row, row as u64)?;
            sim.tick()?;
            match (looked, goes) {
                (true, true) => halves += 1,
                (true, false) => left -= 1,
                (false, _) => looked = true,
            }
        }
        run.expect_u64(sim, self.ports.refresh_row, (row as u64 + 1) % self.rows as u64)
    }

    /// A row is promoted while the refresh of another one waits: it comes next.
    fn promoted_meanwhile(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let asked = Intervals { high: self.limits.shortest_interval(), low: self.longest };
        let kept = self.limits.accepted(asked).unwrap_or(asked);
        let rows = self.rows as u64;
        if rows < 4 || kept.high + 2 * self.limits.unit + 3 * rows + 8 >= kept.low {
            return Ok(());
        }
        // The promoted row is written first, and is not the one that is looked at next.
        let row = self.rng.random_range(0..self.rows);
        let other = (row + self.rng.random_range(2..self.rows)) % self.rows;
        self.begin(sim, run, other, false, asked)?;
        for _ in 0..self.limits.unit {
            self.idle(sim);
            sim.tick()?;
        }
        self.valid[row] = true;
        self.high[row] = true;
        self.write(sim, run, row)?;
        if self.is_early(sim, run, row, kept.high)? {
            return Ok(());
        }
        self.until_looked_at(sim, run, row)?;
        self.idle(sim);
        sim.tick()?;
        self.idle(sim);
        self.access(sim, other, false);
        self.high[other] = true;
        sim.poke_u64(self.ports.promoted_valid, 1);
        sim.poke_u64(self.ports.promoted_row, other as u64);
        sim.settle()?;
        run.expect_u64(sim, self.ports.refresh_read, 0)?;
        sim.tick()?;
        self.refreshed(sim, run, row, 0, 0)?;
        self.written_back(sim, run, row)?;
        // A look, then the read.
        self.refreshed(sim, run, other, 0, 1)?;
        self.written_back(sim, run, other)?;
        run.expect_u64(sim, self.ports.refresh_row, (row as u64 + 1) % rows)
    }
}
