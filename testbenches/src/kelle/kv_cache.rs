//! [`KvCache`] under traffic of all kinds on banks that forget: each read is what the golden cells hold, each refresh is held
//! against the checker of its controller, with intervals that are safe, and with such that lose bits.

use golden::kelle::kv_cache::{Bank, Checker, Distribution, Intervals, Operation, ScoreFile, Violation};
use hdl::blocks::kelle::KvCache;
use hdl::lang::index_width;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, In, Out, Run, Sim};

use super::edram_bank::{from_bools, load_times, to_bools};
use super::refresh_controller::{limits, violation};

/// Cycles of a vector.
const CYCLES: u64 = 16;

/// The bench of a cache; a vector is 16 cycles. Cells that decay are refreshed in time in the first half.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KvCache) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    crate::bench(p, move |sim, run| {
        let vectors = run.vectors() / 2;
        Cache::new(&block, true, sim, run)?.run(sim, run, vectors)?;
        Cache::new(&block, !block.retention_model, sim, run)?.run(sim, run, vectors)
    })
}

/// Keys and values, high and low bytes.
const GROUPS: usize = 4;

struct Cache {
    p: KvCache,
    safe: bool,
    ports: Ports,
    rng: StimulusRng,
    /// By group and bank.
    banks: Vec<Vec<Bank>>,
    /// What the refresh buffers hold.
    buffers: Vec<Vec<Vec<bool>>>,
    scores: ScoreFile,
    threshold: i64,
    /// Of high bytes, of low bytes.
    checkers: [Checker; 2],
    longest: u64,
    start: u64,
}

/// An access.
#[derive(Clone, Copy)]
struct Access {
    write: bool,
    value: bool,
    /// High bytes, low bytes.
    bytes: [bool; 2],
    row: usize,
}

impl Cache {
    fn new(p: &KvCache, safe: bool, sim: &mut Sim, run: &Run) -> sim::Result<Self> {
        let limits = limits(&p.refresh);
        let shortest = limits.shortest_interval();
        let longest = (6 * shortest).min((1 << p.refresh.interval_width) - 1);
        let weakest = match (p.retention_model, safe) {
            (false, _) => 1 << 28,
            (true, true) => longest.max(p.refresh.interval.into()) + limits.slack(),
            (true, false) => shortest,
        };
        let curve = Distribution::new(&[(0, weakest), (1 << 28, weakest + weakest / 2), (u32::MAX, 9 * weakest)])
            .map_err(sim::Error::Unsupported)?;
        let (rows, width) = (p.refresh.rows as usize, 8 * p.lanes as usize);
        let cells = |group: usize, bank: u32| {
            Bank::sample(run.seed() ^ (u64::from(bank) << 32) ^ ((group as u64) << 48), rows, width, &curve)
        };
        let banks: Vec<Vec<Bank>> =
            (0..GROUPS).map(|group| (0..p.banks).map(|bank| cells(group, bank)).collect()).collect();
        run.reset(sim, 2)?;
        let ports = Ports::find(sim)?;
        ports.quiet(sim);
        if p.retention_model {
            let (group_i, bank_i) = (sim.input("cell_group_i")?, sim.input("cell_bank_i")?);
            for (group, banks) in banks.iter().enumerate() {
                sim.poke_u64(group_i, group as u64);
                for (number, bank) in banks.iter().enumerate() {
                    sim.poke_u64(bank_i, number as u64);
                    load_times(sim, bank, p.refresh.rows, 8 * p.lanes)?;
                }
            }
        }
        let fresh = Self::fresh(p)?;
        Ok(Self {
            ports,
            safe,
            rng: run.rng(if safe { "safe" } else { "unsafe" }),
            banks,
            buffers: vec![vec![Vec::new(); p.banks as usize]; GROUPS],
            scores: fresh.0,
            threshold: 0,
            checkers: fresh.1,
            longest,
            start: sim.cycle_count(),
            p: p.clone(),
        })
    }

    /// Scores and checkers after a reset.
    fn fresh(p: &KvCache) -> sim::Result<(ScoreFile, [Checker; 2])> {
        let (rows, limits) = (p.refresh.rows as usize, limits(&p.refresh));
        let interval = u64::from(p.refresh.interval);
        let intervals = limits.accepted(Intervals { high: interval, low: interval });
        let intervals = intervals.ok_or_else(|| sim::Error::Unsupported("the interval is too short".into()))?;
        let checker = || Checker::new(rows, intervals, limits.unit, limits.wait());
        Ok((ScoreFile::new(rows, p.score_width).map_err(sim::Error::Unsupported)?, [checker(), checker()]))
    }

    fn run(mut self, sim: &mut Sim, run: &mut Run, vectors: u64) -> sim::Result<()> {
        let rows = self.p.refresh.rows as usize;
        let (mut since, mut refused) = (0, false);
        let mut busy = 0u8;
        for _ in 0..vectors * CYCLES {
            if self.rng.random_range(0..200 * rows.max(20)) == 0 {
                sim.reset(1)?;
                (self.scores, self.checkers) = Self::fresh(&self.p)?;
                (since, refused) = (0, false);
            }
            if self.rng.random_range(0..4 * rows) == 0 {
                busy = self.rng.random_range(0..=8);
            }
            let access = self.access(since);
            let wanted = since < 4 * rows || self.rng.random_range(0..8u8) < busy;
            let offer = (since == 0 || self.rng.random_range(0..800u32) == 0).then(|| [self.pair(), self.pair()]);
            since += 1;
            refused = self.cycle(sim, run, (wanted, access), offer, refused)?;
        }
        for checker in &mut self.checkers {
            checker.finish().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;
        }
        let flips: u64 = self.banks.iter().flatten().map(Bank::flips).sum();
        let enough = vectors * CYCLES > 500 * rows as u64;
        match (self.safe, enough) {
            (true, _) => run.expect_equal(sim, "data_o", "flipped bits", 0, flips),
            (false, true) => run.expect_equal(sim, "data_o", "bits were lost", true, flips > 0),
            (false, false) => Ok(()),
        }
    }

    /// Rows are filled first.
    fn access(&mut self, since: usize) -> Access {
        let rows = self.p.refresh.rows as usize;
        Access {
            write: since < 4 * rows && since.is_multiple_of(4) || self.rng.random_range(0..32u8) == 0,
            value: self.rng.random(),
            bytes: [self.rng.random(), self.rng.random()],
            row: if since < 4 * rows { since / 4 } else { self.rng.random_range(0..rows) },
        }
    }

    fn pair(&mut self) -> Intervals {
        let shortest = limits(&self.p.refresh).shortest_interval();
        let (safe, longest) = (self.safe, self.longest);
        let mut one = || match (safe, self.rng.random_range(0..8u8)) {
            (_, 0) => shortest - 1,
            (true, _) => self.rng.random_range(shortest..=longest),
            (false, _) => longest,
        };
        Intervals { high: one(), low: one() }
    }

    /// One cycle; returns whether the last intervals were refused.
    fn cycle(
        &mut self,
        sim: &mut Sim,
        run: &mut Run,
        (wanted, access): (bool, Access),
        offer: Option<[Intervals; 2]>,
        refused: bool,
    ) -> sim::Result<bool> {
        let (rows, elements) = (self.p.refresh.rows as usize, self.p.elements());
        let places = 1usize << index_width(rows as u64);
        let half = 1i64 << (self.p.amount_width - 1);
        let one_in = |rng: &mut StimulusRng, n: u32| rng.random_range(0..n) == 0;
        let (evict, evicted) = (one_in(&mut self.rng, 200), self.rng.random_range(0..places));
        let (update, updated) = (one_in(&mut self.rng, 3), self.rng.random_range(0..places));
        let amount =
            if self.rng.random() { self.rng.random_range(0..half) } else { self.rng.random_range(-half..half) };
        let (step, head) = (one_in(&mut self.rng, 50), self.rng.random_range(0..self.p.heads as usize));
        if one_in(&mut self.rng, 150) {
            self.threshold = self.rng.random_range(0..1i64 << self.p.score_width);
        }
        let noise = offer.unwrap_or_else(|| [self.pair(), self.pair()]);
        let (key, value) = (Bits::random(16 * elements, &mut self.rng), Bits::random(16 * elements, &mut self.rng));

        let ports = &self.ports;
        for (port, value) in [
            (ports.valid, wanted.into()),
            (ports.write, access.write.into()),
            (ports.value, access.value.into()),
            (ports.high, access.bytes[0].into()),
            (ports.low, access.bytes[1].into()),
            (ports.row, access.row as u64),
            (ports.evict, evict.into()),
            (ports.evict_row, evicted as u64),
            (ports.update, update.into()),
            (ports.update_row, updated as u64),
            (ports.step, step.into()),
            (ports.threshold, self.threshold as u64),
            (ports.score_row, updated as u64),
            (ports.config, offer.is_some().into()),
            (ports.intervals[0], noise[0].high),
            (ports.intervals[1], noise[1].high),
            (ports.intervals[2], noise[0].low),
            (ports.intervals[3], noise[1].low),
        ] {
            sim.poke_u64(port, value);
        }
        if let Some(port) = ports.step_head {
            sim.poke_u64(port, head as u64);
        }
        sim.poke_i64(ports.amount, amount);
        sim.poke(ports.key_in, &key);
        sim.poke(ports.value_in, &value);
        sim.settle()?;
        run.expect_u64(sim, self.ports.refused, refused.into())?;
        self.classes().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;

        // What the banks do, and what the cells make of it.
        let now = sim.cycle_count() - self.start;
        let ready = sim.peek_u64(self.ports.ready) != 0;
        let made = wanted && ready;
        run.expect_u64(sim, self.ports.stalls, (wanted && !ready).into())?;
        let mut shown = None;
        if made && access.write {
            self.write(access.row, now, [&key, &value]);
        } else if made && self.scores.score(access.row).is_some() {
            shown = Some(self.read(access, now));
        }
        for byte in 0..2 {
            let mut operations = Vec::new();
            if made && access.write {
                operations.push(Operation::Write(access.row));
            } else if made && access.bytes[byte] {
                operations.push(Operation::Read(access.row));
            }
            self.refresh(sim, byte, now, &mut operations);
            let checked = self.checkers[byte].cycle(&operations);
            checked.map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;
        }
        if let Some(score) = Some(updated).filter(|&row| row < rows).and_then(|row| self.scores.score(row)) {
            run.expect_u64(sim, self.ports.score, score as u64)?;
        }

        // What holds from the next cycle on.
        if update && updated < rows {
            self.scores.add(updated, amount);
        }
        if evict && evicted < rows {
            self.scores.clear(evicted);
        }
        if made && access.write {
            self.scores.set(access.row);
        }
        if step {
            let part = rows / self.p.heads as usize;
            self.scores.step_of(head * part..(head + 1) * part);
        }
        self.classes().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;
        let mut refused = refused;
        if let Some(offer) = offer {
            let accepted = offer.map(|pair| limits(&self.p.refresh).accepted(pair));
            refused = accepted.iter().any(Option::is_none);
            for (checker, accepted) in self.checkers.iter_mut().zip(accepted) {
                if let Some(accepted) = accepted {
                    checker.set_intervals(accepted).map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;
                }
            }
        }
        sim.tick()?;
        run.expect_u64(sim, self.ports.data_valid, (made && !access.write).into())?;
        if let Some(shown) = shown {
            run.expect(sim, self.ports.data, &shown)?;
        }
        let high: Vec<bool> = (0..rows).map(|row| self.scores.is_high(row, self.threshold)).collect();
        run.expect(sim, self.ports.high_rows, &from_bools(&high))?;
        Ok(refused)
    }

    fn classes(&mut self) -> Result<(), Violation> {
        for row in 0..self.p.refresh.rows as usize {
            for checker in &mut self.checkers {
                checker.set_valid(row, self.scores.score(row).is_some())?;
                checker.set_class(row, self.scores.is_high(row, self.threshold))?;
            }
        }
        Ok(())
    }

    fn refresh(&mut self, sim: &Sim, byte: usize, now: u64, operations: &mut Vec<Operation>) {
        let width = index_width(self.p.refresh.rows.into());
        let bit = |port: Out| sim.peek(port).bit(byte as u32);
        let row = sim.peek(self.ports.refresh_row).field(byte as u32 * width, width) as usize;
        for group in [byte, byte + 2] {
            if bit(self.ports.refresh_read) {
                self.buffers[group] = self.banks[group].iter_mut().map(|b| b.read(row, now)).collect();
            }
            if bit(self.ports.refresh_write) {
                let words = &self.buffers[group];
                self.banks[group].iter_mut().zip(words).for_each(|(b, word)| b.write(row, now, word));
            }
        }
        if bit(self.ports.refresh_read) {
            operations.push(Operation::RefreshRead(row));
        }
        if bit(self.ports.refresh_write) {
            operations.push(Operation::RefreshWrite(row));
        }
    }

    fn write(&mut self, row: usize, now: u64, vectors: [&Bits; 2]) {
        let lanes = self.p.lanes;
        for (group, banks) in self.banks.iter_mut().enumerate() {
            let (vector, low) = (vectors[group / 2], if group.is_multiple_of(2) { 8 } else { 0 });
            for (bank, cells) in (0..).zip(banks) {
                let bytes = (0..lanes).map(|lane| vector.field((bank * lanes + lane) * 16 + low, 8));
                cells.write(row, now, &to_bools(&Bits::pack(8, bytes)));
            }
        }
    }

    fn read(&mut self, access: Access, now: u64) -> Bits {
        let (lanes, elements) = (self.p.lanes, self.p.elements());
        let mut vector = Bits::zero(16 * elements);
        for byte in 0..2 {
            if !access.bytes[byte] {
                continue;
            }
            let group = 2 * usize::from(access.value) + byte;
            for (bank, cells) in (0..).zip(&mut self.banks[group]) {
                let word = from_bools(&cells.read(access.row, now));
                for lane in 0..lanes {
                    let place = (bank * lanes + lane) * 16 + if byte == 0 { 8 } else { 0 };
                    vector.set_field(place, 8, word.field(8 * lane, 8));
                }
            }
        }
        vector
    }
}

struct Ports {
    valid: In,
    ready: Out,
    write: In,
    value: In,
    high: In,
    low: In,
    row: In,
    key_in: In,
    value_in: In,
    data_valid: Out,
    data: Out,
    evict: In,
    evict_row: In,
    update: In,
    update_row: In,
    amount: In,
    step: In,
    step_head: Option<In>,
    threshold: In,
    score_row: In,
    score: Out,
    config: In,
    /// High and low bytes of rows with high scores, then of the others.
    intervals: [In; 4],
    refused: Out,
    high_rows: Out,
    refresh_read: Out,
    refresh_write: Out,
    refresh_row: Out,
    stalls: Out,
}

impl Ports {
    fn find(sim: &Sim) -> sim::Result<Self> {
        let interval = |name: &str| sim.input(&format!("config_{name}_i"));
        Ok(Self {
            valid: sim.input("access_valid_i")?,
            ready: sim.output("access_ready_o")?,
            write: sim.input("access_write_i")?,
            value: sim.input("access_value_i")?,
            high: sim.input("access_high_i")?,
            low: sim.input("access_low_i")?,
            row: sim.input("access_row_i")?,
            key_in: sim.input("key_i")?,
            value_in: sim.input("value_i")?,
            data_valid: sim.output("data_valid_o")?,
            data: sim.output("data_o")?,
            evict: sim.input("evict_valid_i")?,
            evict_row: sim.input("evict_row_i")?,
            update: sim.input("update_valid_i")?,
            update_row: sim.input("update_row_i")?,
            amount: sim.input("update_amount_i")?,
            step: sim.input("step_i")?,
            step_head: sim.input("step_head_i").ok(),
            threshold: sim.input("threshold_i")?,
            score_row: sim.input("score_row_i")?,
            score: sim.output("score_o")?,
            config: sim.input("config_valid_i")?,
            intervals: [interval("high_msb")?, interval("high_lsb")?, interval("low_msb")?, interval("low_lsb")?],
            refused: sim.output("config_refused_o")?,
            high_rows: sim.output("high_o")?,
            refresh_read: sim.output("refresh_read_o")?,
            refresh_write: sim.output("refresh_write_o")?,
            refresh_row: sim.output("refresh_row_o")?,
            stalls: sim.output("stalls_o")?,
        })
    }

    fn quiet(&self, sim: &mut Sim) {
        for port in [self.valid, self.evict, self.update, self.step, self.config] {
            sim.poke_u64(port, 0);
        }
    }
}
