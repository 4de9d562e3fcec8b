//! [`ScoreMemory`] against a file of registers: one write a cycle, reads and looks in each cycle, resets at any moment.
//! A step ages a head as soon as all its scores are renewed.

use golden::kelle::score_memory::ScoreFile;
use hdl::blocks::kelle::ScoreMemory;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// The bench of a score memory; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ScoreMemory) -> anyhow::Result<Box<dyn sim::Bench>> {
    let golden = ScoreFile::new(p.rows as usize, p.score_width).map_err(anyhow::Error::msg)?;
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let ports = Ports::find(sim)?;
        let rng = run.rng("scores");
        let rows = p.rows as usize;
        let file = File { golden: golden.clone(), behind: vec![false; rows], emptied: 0, asked: vec![], threshold: 0 };
        let optional = ["step_head_i", "drop_valid_i", "set_score_i"].map(|name| sim.input(name).ok());
        let [step_head, drop, set_score] = optional;
        Bench { p: p.clone(), step_head, drop, set_score, ports, rng, fresh: file.clone(), file }.run(sim, run)
    })
}

/// Contents of the memory.
#[derive(Clone)]
struct File {
    golden: ScoreFile,
    /// Rows that were not written since their head aged.
    behind: Vec<bool>,
    /// Rows that were emptied since the last reset.
    emptied: usize,
    /// Rows that were asked for in the cycle before: the row to read, then the rows to look at. None of a cycle before
    /// a reset.
    asked: Vec<usize>,
    threshold: i64,
}

struct Bench {
    p: ScoreMemory,
    step_head: Option<sim::In>,
    drop: Option<sim::In>,
    set_score: Option<sim::In>,
    ports: Ports,
    rng: StimulusRng,
    fresh: File,
    file: File,
}

/// The one write of a cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Write {
    Set(usize, i64),
    Clear(usize),
    Update(usize, i64),
    Drop(usize),
}

impl Bench {
    fn run(mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let rows = self.p.rows as usize;
        run.reset(sim, 2)?;
        for _ in 0..run.vectors() {
            if self.rng.random_range(0..(20 * rows).max(800)) == 0 {
                run.reset(sim, 1)?;
                self.file = self.fresh.clone();
                run.expect_u64(sim, self.ports.promoted_valid, 0)?;
            }
            self.cycle(sim, run)?;
        }
        Ok(())
    }

    /// A row: mostly an existing one, and often the row that was asked for.
    fn row(&mut self) -> usize {
        match self.file.asked.first() {
            Some(&row) if self.rng.random_range(0..4u8) == 0 => row,
            _ => self.rng.random_range(0..1 << self.p.row().width),
        }
    }

    fn amount(&mut self) -> i64 {
        let half = 1i64 << (self.p.amount_width - 1);
        match self.rng.random_range(0..4u8) {
            0 => half - 1,
            1 => -half,
            _ => self.rng.random_range(-half..half),
        }
    }

    fn cycle(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let (rows, busy) = (self.p.rows as usize, self.file.emptied < self.p.rows as usize);
        let top = (1i64 << self.p.score_width) - 1;
        if self.rng.random_range(0..32u8) == 0 {
            self.file.threshold = self.rng.random_range(0..=top);
        }
        let [set, clear] = [12, 48].map(|n| self.rng.random_range(0..n) == 0);
        let update = self.rng.random_range(0..4u8) != 0;
        let drop = self.drop.is_some() && self.rng.random_range(0..16u8) == 0;
        let (set_row, clear_row, amount) = (self.row(), self.row(), self.amount());
        let part = rows / self.p.heads as usize;
        // A score comes to the head whose row was read.
        let same = self.file.asked.first().is_some_and(|read| read / part == set_row / part);
        let set_score = if self.set_score.is_some() && same { self.rng.random_range(0..=top) } else { 0 };
        let head = self.rng.random_range(0..self.p.heads as usize);
        let of_head = head * part..(head + 1) * part;
        let renewed = of_head.clone().all(|row| !self.file.behind[row] || self.file.golden.score(row).is_none());
        let step = renewed && self.rng.random_range(0..4u8) == 0;
        let asked: Vec<usize> = (0..=self.p.lookups).map(|_| self.row()).collect();

        let ports = &self.ports;
        for (port, value) in [
            (ports.set_valid, set.into()),
            (ports.set_row, set_row as u64),
            (ports.clear_valid, clear.into()),
            (ports.clear_row, clear_row as u64),
            (ports.update_valid, update.into()),
            (ports.step, step.into()),
            (ports.threshold, self.file.threshold as u64),
            (ports.read_row, asked[0] as u64),
        ] {
            sim.poke_u64(port, value);
        }
        sim.poke_i64(ports.amount, amount);
        sim.poke(ports.look_row, &Bits::pack(self.p.row().width, asked[1..].iter().map(|&row| row as u64)));
        if let Some(port) = self.step_head {
            sim.poke_u64(port, head as u64);
        }
        if let Some(port) = self.drop {
            sim.poke_u64(port, drop.into());
        }
        if let Some(port) = self.set_score {
            sim.poke_u64(port, set_score as u64);
        }
        sim.settle()?;
        self.compare(sim, run, busy)?;

        let read = self.file.asked.first().copied();
        let update = match read {
            Some(row) if drop => Some(Write::Drop(row)),
            _ => read.filter(|_| update).map(|row| Write::Update(row, amount)),
        };
        let write = if busy {
            None
        } else if set {
            Some(Write::Set(set_row, set_score))
        } else if clear {
            Some(Write::Clear(clear_row))
        } else {
            update
        };
        sim.tick()?;
        self.file.emptied += usize::from(busy);
        self.file.asked = asked;
        let promoted = write.and_then(|write| self.write(write));
        if step {
            let aged = self.file.golden.saturated();
            self.file.golden.step_of(of_head.clone());
            let new = |row| write == Some(Write::Set(row, 0));
            of_head.filter(|_| aged).for_each(|row| self.file.behind[row] = !new(row));
        }
        run.expect_u64(sim, self.ports.promoted_valid, promoted.is_some().into())?;
        promoted.map_or(Ok(()), |row| run.expect_u64(sim, self.ports.promoted_row, row as u64))
    }

    /// The scores that were asked for in the cycle before, as they are now.
    fn compare(&self, sim: &mut Sim, run: &mut Run, busy: bool) -> sim::Result<()> {
        let file = &self.file;
        run.expect_u64(sim, self.ports.busy, busy.into())?;
        let Some((&read, looked)) = file.asked.split_first() else { return Ok(()) };
        let there = |row: usize| row < self.p.rows as usize;
        if there(read)
            && let Some(score) = file.golden.score(read)
        {
            run.expect_u64(sim, self.ports.score, score as u64)?;
        }
        // Of a row that does not exist anything may be shown.
        let (valid, high) = (sim.peek(self.ports.valid), sim.peek(self.ports.high));
        for (k, &row) in (0..).zip(looked).filter(|&(_, &row)| there(row)) {
            let (held, is_high) = (file.golden.is_refreshed(row), file.golden.is_high(row, file.threshold));
            run.expect_equal(sim, "valid_o", &format!("row {row} holds a token"), held, valid.bit(k))?;
            run.expect_equal(sim, "high_o", &format!("row {row} is high"), is_high, high.bit(k))?;
        }
        Ok(())
    }

    /// Makes a write; a row that is promoted by it.
    fn write(&mut self, write: Write) -> Option<usize> {
        let file = &mut self.file;
        let (Write::Set(row, _) | Write::Clear(row) | Write::Update(row, _) | Write::Drop(row)) = write;
        if row >= self.p.rows as usize {
            return None;
        }
        let before = file.golden.is_high(row, file.threshold);
        match write {
            Write::Set(row, score) => file.golden.set_to(row, score),
            Write::Clear(row) => file.golden.clear(row),
            Write::Update(row, amount) => file.golden.add(row, amount),
            Write::Drop(row) => file.golden.drop(row),
        }
        file.behind[row] &= matches!(write, Write::Clear(_));
        let promoted = matches!(write, Write::Update(..)) && !before && file.golden.is_high(row, file.threshold);
        promoted.then_some(row)
    }
}

sim::handles! {
    struct Ports {
        busy: Out = "busy_o",
        set_valid: In = "set_valid_i",
        set_row: In = "set_row_i",
        clear_valid: In = "clear_valid_i",
        clear_row: In = "clear_row_i",
        read_row: In = "read_row_i",
        score: Out = "score_o",
        update_valid: In = "update_valid_i",
        amount: In = "update_amount_i",
        step: In = "step_i",
        threshold: In = "threshold_i",
        look_row: In = "look_row_i",
        valid: Out = "valid_o",
        high: Out = "high_o",
        promoted_valid: Out = "promoted_valid_o",
        promoted_row: Out = "promoted_row_o",
    }
}
