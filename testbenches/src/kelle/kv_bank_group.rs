//! [`KvBankGroup`] under attack: hostile traffic on banks that forget, against the golden model of the same cells.
//!
//! The retention model in the Verilog and the golden one hold the same times for each cell. While the refresh intervals
//! are safe (interval + slack is not above the weakest cell's time), not one bit may flip. With unsafe intervals,
//! exactly the bits flip that the golden cells lose. A reset may come in any cycle; what is not asked for is poked with
//! noise.

mod alone;
mod ports;

use golden::kelle::kv_bank_group::{Bank, Checker, Distribution, Intervals, Operation, ScoreFile, Violation};
use hdl::blocks::kelle::{Byte, KvBankGroup};
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

use super::edram_bank::{from_bools, to_bools};
use super::refresh_controller::{Traffic, limits, violation};
use ports::Ports;

/// Cycles of a vector.
pub const CYCLES: u64 = 16;

/// Which refresh intervals are configured, against the weakest cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Intervals change at run time; interval + slack is at most the time of the weakest cell.
    Safe,
    /// The shortest legal interval all the time; the weakest cell holds exactly interval + slack.
    Tightest,
    /// Intervals change at run time; cells die before their rows are refreshed.
    Unsafe,
}

/// The bench of a bank group; a vector is 16 cycles. Groups whose cells decay take all three modes in turn.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvBankGroup) -> anyhow::Result<Box<dyn sim::Bench>> {
    let modes = if p.retention_model { vec![Mode::Safe, Mode::Tightest, Mode::Unsafe] } else { vec![Mode::Safe] };
    attack(p, modes)
}

/// The bench in these modes, one after the other.
///
/// # Errors
/// Parameters that the block refuses.
pub fn attack(p: &KvBankGroup, modes: Vec<Mode>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| {
        run.only_while("data_valid_o", &["data_o"]);
        for &mode in &modes {
            let vectors = run.vectors() / modes.len() as u64;
            Attack::new(&block, mode, sim, run)?.run(sim, run, vectors)?;
        }
        alone::Alone::new(&block, sim, run)?.run(sim, run)
    })
}

struct Attack {
    p: KvBankGroup,
    mode: Mode,
    ports: Ports,
    rng: StimulusRng,
    banks: Vec<Bank>,
    scores: ScoreFile,
    threshold: i64,
    high: Vec<bool>,
    checker: Checker,
    intervals: Intervals,
    /// Contents of the refresh buffers.
    buffer: Vec<Vec<bool>>,
    longest: u64,
    /// The simulator's cycle that is cycle 0 here.
    start: u64,
}

impl Attack {
    fn new(p: &KvBankGroup, mode: Mode, sim: &mut Sim, run: &Run) -> sim::Result<Self> {
        let limits = limits(&p.refresh);
        let shortest = limits.shortest_interval();
        let longest = (6 * shortest).min((1 << p.refresh.interval_width) - 1);
        let weakest = match mode {
            _ if !p.retention_model => 1 << 28,
            Mode::Safe => longest.max(p.refresh.interval.into()) + limits.slack(),
            Mode::Tightest => shortest + limits.slack(),
            Mode::Unsafe => shortest,
        };
        let curve = Distribution::new(&[(0, weakest), (1 << 28, weakest + weakest / 2), (u32::MAX, 9 * weakest)])
            .map_err(sim::Error::Unsupported)?;
        let (rows, width) = (p.refresh.rows as usize, 8 * p.lanes as usize);
        let cells = |bank: u32| Bank::sample(run.seed() ^ u64::from(bank) << 32, rows, width, &curve);
        let banks: Vec<Bank> = (0..p.banks).map(cells).collect();
        let intervals = Self::reset_intervals(p)?;
        run.reset(sim, 2)?;
        let ports = Ports::find(sim)?;
        ports.quiet(sim);
        if p.retention_model {
            let bank_i = sim.input("cell_bank_i")?;
            for (number, bank) in banks.iter().enumerate() {
                sim.poke_u64(bank_i, number as u64);
                super::edram_bank::load_times(sim, bank, p.refresh.rows, 8 * p.lanes)?;
            }
        }
        Ok(Self {
            ports,
            mode,
            rng: run.rng(&format!("{mode:?}")),
            banks,
            scores: ScoreFile::new(rows, p.score_width).map_err(sim::Error::Unsupported)?,
            threshold: 0,
            high: vec![false; rows],
            checker: Checker::new(rows, intervals, limits.unit, limits.wait()),
            intervals,
            buffer: vec![Vec::new(); p.banks as usize],
            longest,
            start: sim.cycle_count(),
            p: p.clone(),
        })
    }

    fn reset_intervals(p: &KvBankGroup) -> sim::Result<Intervals> {
        let interval = u64::from(p.refresh.interval);
        limits(&p.refresh).accepted(Intervals { high: interval, low: interval }).ok_or_else(|| {
            sim::Error::Unsupported(format!("an interval of {interval} cycles after reset is too short"))
        })
    }

    /// All tokens are forgotten; the cells stay as they are.
    fn reset(&mut self, sim: &mut Sim, run: &Run) -> sim::Result<()> {
        self.checker.finish().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;
        sim.reset(1)?;
        let (rows, limits) = (self.high.len(), limits(&self.p.refresh));
        self.scores = ScoreFile::new(rows, self.p.score_width).map_err(sim::Error::Unsupported)?;
        self.high.fill(false);
        self.intervals = Self::reset_intervals(&self.p)?;
        self.checker = Checker::new(rows, self.intervals, limits.unit, limits.wait());
        Ok(())
    }

    fn run(mut self, sim: &mut Sim, run: &mut Run, vectors: u64) -> sim::Result<()> {
        let rows = self.p.refresh.rows as usize;
        let places = rows.next_power_of_two().max(2);
        let (mut traffic, mut left, mut odd) = (Traffic::Writes, 4 * self.p.refresh.rows, false);
        let (mut refreshes, mut stalls, mut refused) = (0u64, 0u64, false);
        let top = (1i64 << self.p.score_width) - 1;
        let half = 1i64 << (self.p.amount_width - 1);
        let mut since = 0;
        for _ in 0..vectors * CYCLES {
            if self.rng.random_range(0..(200 * self.p.refresh.rows).max(4000)) == 0 {
                self.reset(sim, run)?;
                run.expect_u64(sim, self.ports.data_valid, 0)?;
                (traffic, left, since) = (Traffic::Writes, 4 * self.p.refresh.rows, 0);
                (refreshes, stalls, refused) = (0, 0, false);
            }
            let begins = since < 4 * rows;
            if left == 0 {
                traffic = Traffic::ALL[self.rng.random_range(0..Traffic::ALL.len())];
                left = self.rng.random_range(1..=8 * self.p.refresh.rows);
            }
            left -= 1;
            odd = !odd;
            let wanted = match traffic {
                Traffic::Idle => false,
                Traffic::Reads | Traffic::Writes => true,
                Traffic::Random => self.rng.random(),
                Traffic::Alternate => odd,
                Traffic::Deadline => self.some_row_is_due(),
            };
            // Rows that are hardly ever written are the ones that grow old.
            let write = match traffic {
                _ if !wanted => self.rng.random(),
                Traffic::Writes => self.rng.random_range(0..4u8) == 0,
                _ => self.rng.random_range(0..64u8) == 0,
            };
            let row = if begins { since % rows } else { self.rng.random_range(0..rows) };
            // Rows that do not exist, too.
            let (evict, evicted) = (self.rng.random_range(0..200u8) == 0, self.rng.random_range(0..places));
            let (update, updated) = (self.rng.random_range(0..3u8) == 0, self.rng.random_range(0..places));
            let amount =
                if self.rng.random() { self.rng.random_range(0..half) } else { self.rng.random_range(-half..0) };
            let step = self.rng.random_range(0..50u8) == 0;
            let new_threshold = self.rng.random_range(0..150u8) == 0;
            if new_threshold {
                // Mass promotion, mass demotion.
                self.threshold = self.rng.random_range(0..=top);
            }
            let config = (since == 0 || self.rng.random_range(0..800u32) == 0).then(|| self.new_intervals());
            let noise = config.unwrap_or_else(|| self.new_intervals());
            since += 1;
            let data = Bits::random(16 * self.p.elements(), &mut self.rng);

            let ports = &self.ports;
            sim.poke_u64(ports.access_valid, wanted.into());
            sim.poke_u64(ports.access_write, write.into());
            sim.poke_u64(ports.access_row, row as u64);
            sim.poke(ports.access_data, &data);
            sim.poke_u64(ports.evict_valid, evict.into());
            sim.poke_u64(ports.evict_row, evicted as u64);
            sim.poke_u64(ports.update_valid, update.into());
            sim.poke_u64(ports.update_row, updated as u64);
            sim.poke_i64(ports.update_amount, amount);
            sim.poke_u64(ports.step, step.into());
            sim.poke_u64(ports.threshold, self.threshold as u64);
            sim.poke_u64(ports.score_row, updated as u64);
            sim.poke_u64(ports.config_valid, config.is_some().into());
            sim.poke_u64(ports.config_high, noise.high);
            sim.poke_u64(ports.config_low, noise.low);
            sim.settle()?;
            let broken = |v: Violation, sim: &Sim, run: &Run| run.fail(sim.cycle_count(), violation(&v));
            if new_threshold {
                self.classes().map_err(|v| broken(v, sim, run))?;
            }

            // The operations of the banks, and their effects on the cells.
            let now = sim.cycle_count() - self.start;
            let (ready, at) =
                (sim.peek_u64(self.ports.access_ready) != 0, sim.peek_u64(self.ports.refresh_row) as usize);
            let accessed =
                (wanted && ready).then_some(if write { Operation::Write(row) } else { Operation::Read(row) });
            let [refresh_read, refresh_write] =
                [self.ports.refresh_read, self.ports.refresh_write].map(|port| sim.peek_u64(port) != 0);
            let refreshed = [(refresh_read, Operation::RefreshRead(at)), (refresh_write, Operation::RefreshWrite(at))];
            let refreshed = refreshed.into_iter().filter(|(happens, _)| *happens).map(|(_, operation)| operation);
            let operations: Vec<Operation> = accessed.into_iter().chain(refreshed).collect();
            self.checker.cycle(&operations).map_err(|v| broken(v, sim, run))?;
            let mut expected = None;
            match accessed {
                Some(Operation::Write(_)) => self.write(row, now, &data),
                Some(_) => expected = self.scores.score(row).is_some().then(|| self.read(row, now)),
                None => {}
            }
            if refresh_read {
                self.buffer = self.banks.iter_mut().map(|b| b.read(at, now)).collect();
            }
            if refresh_write {
                self.banks.iter_mut().zip(&self.buffer).for_each(|(b, word)| b.write(at, now, word));
                refreshes += 1;
            }
            stalls += u64::from(wanted && !ready);
            if let Some(score) = Some(updated).filter(|&row| row < rows).and_then(|row| self.scores.score(row)) {
                run.expect_u64(sim, self.ports.score, score as u64)?;
            }

            // The state from the next cycle on.
            if update && updated < rows {
                self.scores.add(updated, amount);
            }
            if evict && evicted < rows {
                self.scores.clear(evicted);
            }
            let written = operations.contains(&Operation::Write(row));
            if written {
                self.scores.set(row);
            }
            if step {
                self.scores.step();
                self.classes().map_err(|v| broken(v, sim, run))?;
            }
            for row in [updated, evicted, row].into_iter().filter(|&row| row < rows) {
                self.class(row).map_err(|v| broken(v, sim, run))?;
            }
            if let Some(config) = config {
                let accepted = limits(&self.p.refresh).accepted(config);
                refused = accepted.is_none();
                if let Some(accepted) = accepted {
                    self.intervals = accepted;
                    self.checker.set_intervals(self.intervals).map_err(|v| broken(v, sim, run))?;
                }
            }
            sim.tick()?;
            run.expect_u64(sim, self.ports.data_valid, (wanted && ready && !write).into())?;
            if let Some(expected) = expected {
                run.expect(sim, self.ports.data, &expected)?;
            }
            run.expect_u64(sim, self.ports.refused, refused.into())?;
            // Narrow counters start again at zero.
            let counted = u64::MAX >> (64 - self.p.refresh.counter_width);
            run.expect_u64(sim, self.ports.refreshes, refreshes & counted)?;
            run.expect_u64(sim, self.ports.stalls, stalls & counted)?;
            if step || new_threshold {
                run.expect(sim, self.ports.high, &from_bools(&self.high))?;
            }
        }
        self.checker.finish().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;
        let flips: u64 = self.banks.iter().map(Bank::flips).sum();
        let enough = vectors * CYCLES > 500 * u64::from(self.p.refresh.rows);
        match self.mode {
            Mode::Unsafe if enough => run.expect_equal(sim, "data_o", "bits were lost", true, flips > 0),
            Mode::Unsafe => Ok(()),
            Mode::Safe | Mode::Tightest => run.expect_equal(sim, "data_o", "flipped bits", 0, flips),
        }
    }

    /// The row's class and validity, as the score file has them.
    fn class(&mut self, row: usize) -> Result<(), Violation> {
        self.checker.set_valid(row, self.scores.score(row).is_some())?;
        self.high[row] = self.scores.is_high(row, self.threshold);
        self.checker.set_class(row, self.high[row])
    }

    fn classes(&mut self) -> Result<(), Violation> {
        (0..self.high.len()).try_for_each(|row| self.class(row))
    }

    fn new_intervals(&mut self) -> Intervals {
        let shortest = limits(&self.p.refresh).shortest_interval();
        let (mode, longest) = (self.mode, self.longest);
        let mut one = || match (mode, self.rng.random_range(0..6u8)) {
            (Mode::Tightest, _) | (_, 0) => shortest,
            (_, 1) => shortest - 1,
            (Mode::Unsafe, _) => longest,
            _ => self.rng.random_range(shortest..=longest),
        };
        Intervals { high: one(), low: one() }
    }

    fn some_row_is_due(&mut self) -> bool {
        let rows = self.high.len();
        let start = self.rng.random_range(0..rows);
        (0..rows.min(32)).map(|i| (start + i) % rows).any(|row| {
            let interval = if self.high[row] { self.intervals.high } else { self.intervals.low };
            self.scores.score(row).is_some() && self.checker.age(row).is_some_and(|age| age >= interval)
        })
    }

    fn write(&mut self, row: usize, now: u64, data: &Bits) {
        let low = if self.p.byte == Byte::Msb { 8 } else { 0 };
        let lanes = self.p.lanes;
        for (bank, cells) in (0..).zip(&mut self.banks) {
            let byte = |lane: u32| data.field(16 * (bank * lanes + lane) + low, 8);
            cells.write(row, now, &to_bools(&Bits::pack(8, (0..lanes).map(byte))));
        }
    }

    fn read(&mut self, row: usize, now: u64) -> Bits {
        let low = if self.p.byte == Byte::Msb { 8 } else { 0 };
        let words = self.banks.iter_mut().map(|b| from_bools(&b.read(row, now)));
        let elements = words.flat_map(|w| w.unpack(8)).map(|byte| byte << low);
        Bits::pack(16, elements)
    }
}
