//! One token at a time, or two. Measures how soon a row is refreshed once it is due, how long accesses make it wait, and
//! the effect of a promotion.

use golden::kelle::kv_bank_group::Intervals;
use golden::kelle::refresh_controller::Limits;
use hdl::blocks::kelle::KvBankGroup;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Difference, Run, Sim};

use super::super::refresh_controller::limits;
use super::ports::Ports;

pub(super) struct Alone {
    p: KvBankGroup,
    limits: Limits,
    longest: u64,
    ports: Ports,
    rng: StimulusRng,
}

impl Alone {
    pub(super) fn new(p: &KvBankGroup, sim: &Sim, run: &Run) -> sim::Result<Self> {
        let longest = (1u64 << p.refresh.interval_width) - 1;
        let (limits, ports, rng) = (limits(&p.refresh), Ports::find(sim)?, run.rng("alone"));
        Ok(Self { p: p.clone(), limits, longest, ports, rng })
    }

    pub(super) fn run(mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        for vector in 0..run.vectors().div_ceil(8) {
            let row = self.rng.random_range(0..self.limits.rows);
            match vector % 4 {
                0 => self.due(sim, run, row)?,
                1 => self.busy(sim, run, row)?,
                2 if self.limits.patience >= 8 => self.promoted(sim, run, row)?,
                3 if self.limits.patience >= 8 => self.promoted_meanwhile(sim, run, row)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// There are no requests; their fields are noise.
    fn idle(&mut self, sim: &mut Sim) {
        self.ports.quiet(sim);
        let rows = self.limits.rows;
        let ports = &self.ports;
        for row in [ports.access_row, ports.evict_row, ports.update_row, ports.score_row] {
            sim.poke_u64(row, self.rng.random_range(0..rows));
        }
        sim.poke_u64(ports.access_write, self.rng.random::<bool>().into());
        sim.poke(ports.access_data, &Bits::random(16 * self.p.elements(), &mut self.rng));
        for interval in [ports.config_high, ports.config_low] {
            sim.poke_u64(interval, self.rng.random_range(0..=self.longest));
        }
    }

    /// Only `row` holds a token, of score 0; it is written in the last cycle.
    fn begin(&mut self, sim: &mut Sim, row: u64, threshold: u64, intervals: Intervals) -> sim::Result<()> {
        self.idle(sim);
        sim.reset(1)?;
        sim.poke_u64(self.ports.threshold, threshold);
        // The walk is anywhere.
        for _ in 0..self.rng.random_range(0..=self.limits.rows) {
            self.idle(sim);
            sim.tick()?;
        }
        self.idle(sim);
        sim.poke_u64(self.ports.config_valid, 1);
        sim.poke_u64(self.ports.config_high, intervals.high);
        sim.poke_u64(self.ports.config_low, intervals.low);
        sim.poke_u64(self.ports.access_valid, 1);
        sim.poke_u64(self.ports.access_write, 1);
        sim.poke_u64(self.ports.access_row, row);
        sim.tick()
    }

    /// The intervals of both classes: any that are legal, near to the shortest.
    fn intervals(&mut self) -> Intervals {
        let shortest = self.limits.shortest_interval();
        let most = (2 * shortest + 2 * self.limits.unit).min(self.longest);
        let mut one = || self.rng.random_range(shortest..=most);
        Intervals { high: one(), low: one() }
    }

    /// The cycles until `row` is read for its refresh, this one being `from`; its write-back follows at once.
    fn refreshed(&mut self, sim: &mut Sim, run: &mut Run, row: u64, (from, most): (u64, u64)) -> sim::Result<u64> {
        for cycle in from..=most {
            self.idle(sim);
            sim.settle()?;
            run.expect_u64(sim, self.ports.refresh_write, 0)?;
            if sim.peek_u64(self.ports.refresh_read) != 0 {
                run.expect_u64(sim, self.ports.refresh_row, row)?;
                sim.tick()?;
                self.idle(sim);
                sim.settle()?;
                run.expect_u64(sim, self.ports.refresh_write, 1)?;
                run.expect_u64(sim, self.ports.refresh_row, row)?;
                sim.tick()?;
                return Ok(cycle);
            }
            sim.tick()?;
        }
        let problem = format!("row {row}, left alone, is not refreshed {most} cycles after its write or promotion");
        Err(run.fail(sim.cycle_count(), Difference::Protocol { port: "refresh_read_o".into(), problem }))
    }

    /// A row becomes due, then again, a whole interval after its write-back.
    fn due(&mut self, sim: &mut Sim, run: &mut Run, row: u64) -> sim::Result<()> {
        let asked = self.intervals();
        let high: bool = self.rng.random();
        self.begin(sim, row, u64::from(!high), asked)?;
        let kept = self.limits.accepted(asked).unwrap_or(asked);
        let interval = if high { kept.high } else { kept.low };
        for _ in 0..2 {
            // In the cycle after the write the row is 1 cycle old.
            let age = self.refreshed(sim, run, row, (1, interval + self.limits.until_read()))?;
            run.expect_equal(sim, "refresh_read_o", &format!("row {row}, age {age}: due"), true, age >= interval)?;
        }
        Ok(())
    }

    /// Somebody reads all the time: he waits when the row has been due for as long as patience says, and not before.
    fn busy(&mut self, sim: &mut Sim, run: &mut Run, row: u64) -> sim::Result<()> {
        let asked = self.intervals();
        self.begin(sim, row, 1, asked)?;
        let interval = self.limits.accepted(asked).unwrap_or(asked).low;
        let waits = self.limits.patience.saturating_sub(2) + 1;
        // The patience is renewed before the row is due again.
        for _ in 0..2 {
            self.waits(sim, run, row, (interval, waits))?;
        }
        Ok(())
    }

    /// The row waits for as long, and is refreshed. In the first cycle it is 1 cycle old.
    fn waits(&mut self, sim: &mut Sim, run: &mut Run, row: u64, (interval, waits): (u64, u64)) -> sim::Result<()> {
        for age in 1..=interval + self.limits.until_read() + waits {
            self.reads(sim)?;
            let ready = sim.peek_u64(self.ports.access_ready) != 0;
            run.expect_u64(sim, self.ports.refresh_read, (!ready).into())?;
            let place = format!("a row of age {age} waits");
            run.expect_equal(sim, "access_ready_o", &place, true, ready || age >= interval + waits)?;
            sim.tick()?;
            if !ready {
                self.reads(sim)?;
                run.expect_u64(sim, self.ports.refresh_write, 1)?;
                run.expect_u64(sim, self.ports.access_ready, 0)?;
                return sim.tick();
            }
        }
        let problem = format!("row {row} waits for longer than patience says");
        Err(run.fail(sim.cycle_count(), Difference::Protocol { port: "access_ready_o".into(), problem }))
    }

    /// Somebody wants to read.
    fn reads(&mut self, sim: &mut Sim) -> sim::Result<()> {
        self.idle(sim);
        sim.poke_u64(self.ports.access_valid, 1);
        sim.poke_u64(self.ports.access_write, 0);
        sim.settle()
    }

    /// Adds to the score of a row.
    fn update(&self, sim: &mut Sim, row: u64, amount: u64) {
        sim.poke_u64(self.ports.update_valid, 1);
        sim.poke_u64(self.ports.update_row, row);
        sim.poke_u64(self.ports.update_amount, amount);
    }

    /// Idle cycles without a refresh.
    fn rest(&mut self, sim: &mut Sim, run: &mut Run, cycles: u64) -> sim::Result<()> {
        for _ in 0..cycles {
            self.idle(sim);
            sim.settle()?;
            run.expect_u64(sim, self.ports.refresh_read, 0)?;
            sim.tick()?;
        }
        Ok(())
    }

    /// Writes a second token.
    fn write(&mut self, sim: &mut Sim, run: &mut Run, row: u64) -> sim::Result<()> {
        self.idle(sim);
        sim.poke_u64(self.ports.access_valid, 1);
        sim.poke_u64(self.ports.access_write, 1);
        sim.poke_u64(self.ports.access_row, row);
        sim.settle()?;
        run.expect_u64(sim, self.ports.access_ready, 1)?;
        sim.tick()
    }

    /// Another row than this one.
    fn other(&mut self, row: u64) -> u64 {
        (row + self.rng.random_range(1..self.limits.rows)) % self.limits.rows
    }

    /// A threshold, and the largest amount of an update.
    fn threshold(&mut self) -> (u64, u64) {
        let most = (1u64 << (self.p.amount_width - 1)) - 1;
        let top = most.min((1 << self.p.score_width) - 1);
        (self.rng.random_range(1..=top), top)
    }

    /// A row with a long interval is promoted when it is older than the short one. The update before, of another row,
    /// promotes nothing, so it takes nothing from this one.
    fn promoted(&mut self, sim: &mut Sim, run: &mut Run, row: u64) -> sim::Result<()> {
        let asked = Intervals { high: self.limits.shortest_interval(), low: self.longest };
        let kept = self.limits.accepted(asked).unwrap_or(asked);
        let least = kept.high + self.limits.unit;
        if least + 4 >= kept.low {
            return Ok(());
        }
        let (threshold, top) = self.threshold();
        self.begin(sim, row, threshold, asked)?;
        let other = self.other(row);
        self.write(sim, run, other)?;
        let cycles = self.rng.random_range(least..(kept.low - 3).min(least + 3 * self.limits.rows)) - 1;
        self.rest(sim, run, cycles)?;
        if self.rng.random() {
            self.idle(sim);
            let amount = self.rng.random_range(0..threshold);
            self.update(sim, other, amount);
            sim.settle()?;
            run.expect_u64(sim, self.ports.refresh_read, 0)?;
            sim.tick()?;
        }
        self.idle(sim);
        let amount = self.rng.random_range(threshold..=top);
        self.update(sim, row, amount);
        sim.settle()?;
        run.expect_u64(sim, self.ports.refresh_read, 0)?;
        sim.tick()?;
        // The report comes in this cycle.
        self.refreshed(sim, run, row, (0, Limits::UNTIL_PROMOTED_IS_READ))?;
        Ok(())
    }

    /// A row is promoted while another one waits for its refresh: its own refresh follows at once.
    fn promoted_meanwhile(&mut self, sim: &mut Sim, run: &mut Run, row: u64) -> sim::Result<()> {
        let asked = Intervals { high: self.limits.shortest_interval(), low: self.longest };
        let kept = self.limits.accepted(asked).unwrap_or(asked);
        // From the write of the other row until it is looked at when it is due.
        let due = kept.high + self.limits.until_read() + 1;
        if due + 3 * self.limits.unit + 12 >= kept.low {
            return Ok(());
        }
        let (threshold, top) = self.threshold();
        self.begin(sim, row, threshold, asked)?;
        // This row is older than the other one by more than a unit.
        let cycles = self.limits.unit + self.rng.random_range(1..4);
        self.rest(sim, run, cycles)?;
        let other = self.other(row);
        self.write(sim, run, other)?;
        self.idle(sim);
        self.update(sim, other, top);
        sim.tick()?;
        // The look at the row that this promotion asks for comes before it is due.
        self.rest(sim, run, kept.high.saturating_sub(4))?;
        let (mut seen, mut left) = (false, due);
        // The walk stays at a row that is due.
        loop {
            self.reads(sim)?;
            let here = sim.peek_u64(self.ports.refresh_row) == other;
            if here && seen {
                break;
            }
            run.expect_u64(sim, self.ports.refresh_read, 0)?;
            run.expect_equal(sim, "refresh_row_o", "the walk stays at a row that is due", true, left > 0)?;
            (seen, left) = (here, left - 1);
            sim.tick()?;
        }
        let amount = self.rng.random_range(threshold..=top);
        self.update(sim, row, amount);
        sim.settle()?;
        run.expect_u64(sim, self.ports.refresh_read, 0)?;
        sim.tick()?;
        // The report comes in this cycle.
        self.reads(sim)?;
        run.expect_u64(sim, self.ports.refresh_read, 0)?;
        sim.tick()?;
        self.refreshed(sim, run, other, (0, 0))?;
        self.refreshed(sim, run, row, (0, Limits::UNTIL_PROMOTED_IS_READ))?;
        Ok(())
    }
}
