//! Records all accesses to the rows of a cache whose cells decay, cycle by cycle, and whether they were legal.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use golden::accelerators::kelle::{Event, Read};
use golden::kelle::refresh_controller::{Checker, Intervals, Operation, Violation};
use golden::kelle::score_register_file::ScoreFile;
use hdl::accelerators::kelle::KelleTop;
use host::kelle::RefreshJob;
use sim::bus::Partner;
use sim::{Out, Sim};

use crate::kelle::refresh_controller::limits;

/// The recorded accesses.
#[derive(Clone, Debug)]
pub struct Record {
    /// Each access with its cycle.
    pub events: Vec<(u64, Event)>,
    /// Of high bytes, of low bytes.
    checkers: [Checker; 2],
    violation: Option<String>,
}

impl Record {
    /// From now on rows are refreshed so; no row is in use.
    ///
    /// # Errors
    /// The accelerator would refuse it.
    pub fn refresh(&mut self, block: &KelleTop, job: &RefreshJob) -> anyhow::Result<()> {
        let limits = limits(&block.attention.cache().refresh);
        let of = [(job.high.msb, job.low.msb), (job.high.lsb, job.low.lsb)];
        for (checker, (high, low)) in self.checkers.iter_mut().zip(of) {
            let asked = Intervals { high: high.into(), low: low.into() };
            let taken = limits.accepted(asked);
            let taken = taken.ok_or_else(|| anyhow::anyhow!("intervals of {high} and {low} cycles are too short"))?;
            checker.set_intervals(taken)?;
        }
        Ok(())
    }

    /// All that was done since the last time, if it was legal.
    ///
    /// # Errors
    /// A rule of the refresh was broken.
    pub fn take(&mut self) -> anyhow::Result<Vec<(u64, Event)>> {
        for checker in &mut self.checkers {
            checker.finish()?;
        }
        match &self.violation {
            Some(violation) => anyhow::bail!("{violation}"),
            None => Ok(std::mem::take(&mut self.events)),
        }
    }

    /// Rows refreshed since the beginning, of high bytes and of low bytes.
    #[must_use]
    pub fn refreshes(&self) -> [u64; 2] {
        self.checkers.each_ref().map(|checker| checker.refreshes().iter().sum())
    }
}

/// A change of a row.
#[derive(Clone, Copy)]
enum Change {
    /// A token enters it, with this score.
    Enter(i64),
    /// Its token goes.
    Evict,
    /// Its token is kept as a normalised row.
    Drop,
}

/// Looks at each cycle.
pub struct Recorder {
    ports: Ports,
    /// Ports of builds in which tokens come again: a written token comes again, a row is dropped, the row's number.
    again: Option<[Out; 3]>,
    /// Port of builds in which saved tokens come back: the score of a token that is written.
    score: Option<Out>,
    row_width: u32,
    /// Rows of a head.
    entries: usize,
    valid: Vec<bool>,
    scores: ScoreFile,
    threshold: i64,
    record: Rc<RefCell<Record>>,
}

impl Recorder {
    /// A recorder and its record, for an accelerator with a `retention_model` that holds no token.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(sim: &Sim, block: &KelleTop) -> anyhow::Result<(Self, Rc<RefCell<Record>>)> {
        let (rows, limits) = (block.attention.rows(), limits(&block.attention.cache().refresh));
        let any = Intervals { high: limits.shortest_interval(), low: limits.shortest_interval() };
        let checker = || Checker::new(rows as usize, any, limits.unit, limits.wait());
        let record = Record { events: Vec::new(), checkers: [checker(), checker()], violation: None };
        let record = Rc::new(RefCell::new(record));
        let recorder = Self {
            ports: Ports::find(sim)?,
            again: match block.attention.recompute {
                0 => None,
                _ => {
                    let [keep, drop, row] =
                        ["cache_keep_o", "cache_drop_o", "cache_drop_row_o"].map(|name| sim.output(name));
                    Some([keep?, drop?, row?])
                }
            },
            score: block.attention.save.then(|| sim.output("cache_score_o")).transpose()?,
            row_width: block.attention.row().width,
            entries: block.attention.entries() as usize,
            valid: vec![false; rows as usize],
            scores: ScoreFile::new(rows as usize, block.attention.score_width).map_err(anyhow::Error::msg)?,
            threshold: 0,
            record: Rc::clone(&record),
        };
        Ok((recorder, record))
    }

    /// From now on rows have the classes of their scores.
    fn classify(&self, record: &mut Record, rows: Range<usize>) -> Result<(), Violation> {
        for row in rows {
            for checker in &mut record.checkers {
                checker.set_class(row, self.scores.is_high(row, self.threshold))?;
            }
        }
        Ok(())
    }

    fn look(&mut self, sim: &Sim, record: &mut Record) -> Result<(), Violation> {
        let threshold = sim.peek_u64(self.ports.threshold) as i64;
        if threshold != self.threshold {
            self.threshold = threshold;
            self.classify(record, 0..self.valid.len())?;
        }
        let ports = &self.ports;
        let up = |port| sim.peek_u64(port) != 0;
        let now = sim.cycle_count();
        let row = sim.peek_u64(ports.row) as usize;
        let (access, write) = (up(ports.access), up(ports.write));
        let bytes = [up(ports.high), up(ports.low)];
        if access && write {
            record.events.push((now, Event::Write(row)));
        } else if access {
            record.events.push((now, Event::Read(Read { value: up(ports.value), bytes, row })));
        }
        let [reads, writes] = [ports.refresh_read, ports.refresh_write].map(|port| sim.peek_u64(port));
        let rows = if reads | writes == 0 { None } else { Some(sim.peek(ports.refresh_row)) };
        for (byte, read) in bytes.into_iter().enumerate() {
            let mut operations = Vec::new();
            if access && write {
                operations.push(Operation::Write(row));
            } else if access && read {
                operations.push(Operation::Read(row));
            }
            if let Some(rows) = &rows {
                let row = rows.field(byte as u32 * self.row_width, self.row_width) as usize;
                if reads >> byte & 1 == 1 {
                    operations.push(Operation::RefreshRead(row));
                    record.events.push((now, Event::RefreshRead { byte, row }));
                }
                if writes >> byte & 1 == 1 {
                    operations.push(Operation::RefreshWrite(row));
                    record.events.push((now, Event::RefreshWrite { byte, row }));
                }
            }
            record.checkers[byte].cycle(&operations)?;
        }
        // From the next cycle on: a write goes before an eviction.
        let evicted = up(ports.evict).then(|| (sim.peek_u64(ports.evict_row) as usize, Change::Evict));
        let kept = self.again.is_some_and(|[keep, ..]| up(keep));
        let score = self.score.map_or(0, |score| sim.peek_u64(score) as i64);
        let entered = (access && write && !kept).then_some((row, Change::Enter(score)));
        let dropped = self.again.filter(|&[_, drop, _]| up(drop)).map(|[.., row]| sim.peek_u64(row) as usize);
        let added = up(ports.update).then(|| (sim.peek_u64(ports.update_row) as usize, sim.peek_i64(ports.amount)));
        let ended = up(ports.step).then(|| sim.peek_u64(ports.step_head) as usize * self.entries);
        if let Some((row, amount)) = added {
            self.scores.add(row, amount);
            self.classify(record, row..row + 1)?;
        }
        let gone = |row| (row, Change::Drop);
        for (row, change) in evicted.into_iter().chain(entered).chain(dropped.map(gone)) {
            match change {
                Change::Enter(score) => self.scores.set_to(row, score),
                Change::Evict => self.scores.clear(row),
                Change::Drop => self.scores.drop(row),
            }
            let valid = self.scores.is_refreshed(row);
            if self.valid[row] != valid {
                self.valid[row] = valid;
                for checker in &mut record.checkers {
                    checker.set_valid(row, valid)?;
                }
            }
            self.classify(record, row..row + 1)?;
        }
        if let Some(first) = ended {
            let (rows, aged) = (first..first + self.entries, self.scores.saturated());
            self.scores.step_of(rows.clone());
            if aged {
                self.classify(record, rows)?;
            }
        }
        Ok(())
    }
}

impl Partner for Recorder {
    fn drive(&mut self, _: &mut Sim) -> sim::Result<()> {
        Ok(())
    }

    fn sample(&mut self, sim: &Sim) -> sim::Result<bool> {
        let record = Rc::clone(&self.record);
        let mut record = record.borrow_mut();
        if record.violation.is_none()
            && let Err(violation) = self.look(sim, &mut record)
        {
            record.violation = Some(format!("cycle {}: {violation}", sim.cycle_count()));
        }
        Ok(false)
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn state(&self) -> String {
        String::new()
    }
}

sim::handles! {
    struct Ports {
        access: Out = "cache_access_o",
        write: Out = "cache_write_o",
        value: Out = "cache_value_o",
        high: Out = "cache_high_o",
        low: Out = "cache_low_o",
        row: Out = "cache_row_o",
        evict: Out = "cache_evict_o",
        evict_row: Out = "cache_evict_row_o",
        refresh_read: Out = "cache_refresh_read_o",
        refresh_write: Out = "cache_refresh_write_o",
        refresh_row: Out = "cache_refresh_row_o",
        update: Out = "cache_update_o",
        update_row: Out = "cache_update_row_o",
        amount: Out = "cache_amount_o",
        step: Out = "cache_step_o",
        step_head: Out = "cache_step_head_o",
        threshold: Out = "cache_threshold_o",
    }
}
