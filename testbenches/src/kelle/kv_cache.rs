//! [`KvCache`] under traffic of all kinds on banks that forget. Each read must show the golden cells, and each refresh
//! goes to the checker of its controller. Intervals are safe, or lose bits.

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
    sim::kit::bench(p, move |sim, run| {
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
    step_head: Option<In>,
    keep: Option<In>,
    new_score: Option<In>,
    drop: Option<In>,
    rng: StimulusRng,
    /// By group and bank.
    banks: Vec<Vec<Bank>>,
    /// Contents of the refresh buffers.
    buffers: Vec<Vec<Vec<bool>>>,
    scores: ScoreFile,
    /// When each row was written.
    written: Vec<u64>,
    /// Rows that were not written since their head aged.
    behind: Vec<bool>,
    /// The row whose score was asked for in the cycle before.
    asked: usize,
    /// Cycles since a reset in which rows were emptied; unknown after a while in which nobody looked.
    emptied: Option<u64>,
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
    /// The token that is written is there already.
    keep: bool,
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
            step_head: sim.input("step_head_i").ok(),
            keep: sim.input("keep_i").ok(),
            new_score: sim.input("new_score_i").ok(),
            drop: sim.input("drop_valid_i").ok(),
            ports,
            safe,
            rng: run.rng(if safe { "safe" } else { "unsafe" }),
            banks,
            buffers: vec![vec![Vec::new(); p.banks as usize]; GROUPS],
            scores: fresh.0,
            written: vec![0; rows],
            behind: vec![false; rows],
            asked: 0,
            emptied: None,
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
                self.behind.fill(false);
                self.emptied = Some(0);
                (since, refused) = (0, false);
            }
            let busy_rows = sim.peek_u64(self.ports.busy) != 0;
            if let Some(cycles) = self.emptied {
                run.expect_u64(sim, self.ports.busy, (cycles < rows as u64).into())?;
                self.emptied = busy_rows.then_some(cycles + 1);
            }
            if self.rng.random_range(0..4 * rows) == 0 {
                busy = self.rng.random_range(0..=8);
            }
            let access = self.access(since, sim.cycle_count() - self.start);
            let wanted = since < 4 * rows || self.rng.random_range(0..8u8) < busy;
            let offer = (since == 0 || self.rng.random_range(0..800u32) == 0).then(|| [self.pair(), self.pair()]);
            since += usize::from(!busy_rows);
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
    fn access(&mut self, since: usize, now: u64) -> Access {
        let rows = self.p.refresh.rows as usize;
        let mut access = Access {
            write: since < 4 * rows && since.is_multiple_of(4) || self.rng.random_range(0..32u8) == 0,
            keep: false,
            value: self.rng.random(),
            bytes: [self.rng.random(), self.rng.random()],
            row: if since < 4 * rows { since / 4 } else { self.rng.random_range(0..rows) },
        };
        if self.keep.is_some() && self.scores.score(access.row).is_some() {
            // Of a token that was dropped nothing is known soon.
            let dropped = !self.scores.is_refreshed(access.row);
            access.write |= dropped && self.safe && now - self.written[access.row] > 50;
            access.keep = access.write && self.rng.random_range(0..4u8) != 0;
        }
        access
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
        let (update, asked) = (one_in(&mut self.rng, 3), self.rng.random_range(0..places));
        let updated = std::mem::replace(&mut self.asked, asked);
        let amount =
            if self.rng.random() { self.rng.random_range(0..half) } else { self.rng.random_range(-half..half) };
        let head = self.rng.random_range(0..self.p.heads as usize);
        let part = rows / self.p.heads as usize;
        let of_head = head * part..(head + 1) * part;
        // Each of its scores was written since the head aged.
        let renewed = of_head.clone().all(|row| !self.behind[row] || self.scores.score(row).is_none());
        let step = renewed && one_in(&mut self.rng, 20);
        let drop = self.drop.is_some() && one_in(&mut self.rng, 60);
        // A score comes to the head whose row was looked at.
        let new_score = match self.new_score {
            Some(_) if updated / part == access.row / part => self.rng.random_range(0..1i64 << self.p.score_width),
            _ => 0,
        };
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
            (ports.step, step.into()),
            (ports.threshold, self.threshold as u64),
            (ports.score_row, asked as u64),
            (ports.config, offer.is_some().into()),
            (ports.high_msb, noise[0].high),
            (ports.high_lsb, noise[1].high),
            (ports.low_msb, noise[0].low),
            (ports.low_lsb, noise[1].low),
        ] {
            sim.poke_u64(port, value);
        }
        if let Some(port) = self.step_head {
            sim.poke_u64(port, head as u64);
        }
        for (port, value) in [(self.keep, access.keep), (self.drop, drop)] {
            if let Some(port) = port {
                sim.poke_u64(port, value.into());
            }
        }
        if let Some(port) = self.new_score {
            sim.poke_u64(port, new_score as u64);
        }
        sim.poke_i64(ports.amount, amount);
        sim.poke(ports.key_in, &key);
        sim.poke(ports.value_in, &value);
        sim.settle()?;
        run.expect_u64(sim, self.ports.refused, refused.into())?;
        self.classes().map_err(|v| run.fail(sim.cycle_count(), violation(&v)))?;

        // The operations of the banks, and their effects on the cells.
        let now = sim.cycle_count() - self.start;
        let ready = sim.peek_u64(self.ports.ready) != 0;
        let busy = sim.peek_u64(self.ports.busy) != 0;
        if busy {
            run.expect_u64(sim, self.ports.ready, 0)?;
        } else if !access.write && access.bytes == [false; 2] {
            // It needs no bank.
            run.expect_u64(sim, self.ports.ready, 1)?;
        }
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

        // The state from the next cycle on. There is one write a cycle: a new token, else a token that goes, else an
        // update.
        let enters = made && access.write && !access.keep;
        let written = if enters {
            self.scores.set_to(access.row, new_score);
            Some(access.row)
        } else if busy {
            None
        } else if evict {
            if evicted < rows {
                self.scores.clear(evicted);
            }
            None
        } else if drop && updated < rows {
            self.scores.drop(updated);
            Some(updated)
        } else if update && updated < rows {
            self.scores.add(updated, amount);
            Some(updated)
        } else {
            None
        };
        if let Some(row) = written {
            self.behind[row] = false;
        }
        if step {
            if self.scores.saturated() {
                let new = |row| enters && row == access.row && new_score == 0;
                of_head.clone().for_each(|row| self.behind[row] = !new(row));
            }
            self.scores.step_of(of_head);
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
        Ok(refused)
    }

    fn classes(&mut self) -> Result<(), Violation> {
        for row in 0..self.p.refresh.rows as usize {
            for checker in &mut self.checkers {
                checker.set_valid(row, self.scores.is_refreshed(row))?;
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
                // A row that was never read is written back by a wrong controller, which its checker says.
                let read = self.banks[group].iter_mut().zip(words).filter(|(_, word)| !word.is_empty());
                read.for_each(|(b, word)| b.write(row, now, word));
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
        self.written[row] = now;
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

impl Ports {
    fn quiet(&self, sim: &mut Sim) {
        for name in ["keep_i", "drop_valid_i", "new_score_i"] {
            if let Ok(port) = sim.input(name) {
                sim.poke_u64(port, 0);
            }
        }
        for port in [self.valid, self.evict, self.update, self.step, self.config] {
            sim.poke_u64(port, 0);
        }
    }
}

sim::handles! {
    struct Ports {
        busy: Out = "busy_o",
        valid: In = "access_valid_i",
        ready: Out = "access_ready_o",
        write: In = "access_write_i",
        value: In = "access_value_i",
        high: In = "access_high_i",
        low: In = "access_low_i",
        row: In = "access_row_i",
        key_in: In = "key_i",
        value_in: In = "value_i",
        data_valid: Out = "data_valid_o",
        data: Out = "data_o",
        evict: In = "evict_valid_i",
        evict_row: In = "evict_row_i",
        update: In = "update_valid_i",
        amount: In = "update_amount_i",
        step: In = "step_i",
        threshold: In = "threshold_i",
        score_row: In = "score_row_i",
        score: Out = "score_o",
        config: In = "config_valid_i",
        high_msb: In = "config_high_msb_i",
        high_lsb: In = "config_high_lsb_i",
        low_msb: In = "config_low_msb_i",
        low_lsb: In = "config_low_lsb_i",
        refused: Out = "config_refused_o",
        refresh_read: Out = "refresh_read_o",
        refresh_write: Out = "refresh_write_o",
        refresh_row: Out = "refresh_row_o",
        stalls: Out = "stalls_o",
    }
}
