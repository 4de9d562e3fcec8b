//! The second pass over a row whose outliers are known: thresholds, then beat by beat indices and outliers.

use crate::accelerators::cycles::{Times, latest};

/// Cycles from the begin of a row's thresholds to the read of its first beat.
const THRESHOLDS: u64 = 22;
/// Levels of the search, one cycle each. All beats in the search move together, and at most one is at each level.
const LEVELS: u64 = 4;

/// Rows in flight to indices and outliers.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// Beats of a row, and outliers up to the end of each beat, counted over all rows.
    beats: i64,
    through: Vec<i64>,
    /// When the thresholds of each row began.
    pub begun: Times,
    /// When each beat was read, when it entered the search, and when it was finished.
    read: Times,
    entered: Times,
    pub left: Times,
    /// When the indices of each beat were found, and when they went to a beat of the bus. Between these two times the
    /// search stalls.
    found: Times,
    pub indexed: Times,
    /// When each outlier was sent.
    pub sent: Times,
}

impl Scan {
    /// Rows of so many beats. `outliers` has the number of outliers of each beat of all rows.
    pub fn new(beats: i64, outliers: Vec<i64>) -> Self {
        let sum = |sum: &mut i64, count| {
            *sum += count;
            Some(*sum)
        };
        let through = outliers.into_iter().scan(0, sum).collect();
        let (begun, read, entered, left) = Default::default();
        let (found, indexed, sent) = Default::default();
        Self { beats, through, begun, read, entered, left, found, indexed, sent }
    }

    fn count(&self) -> i64 {
        self.through.len() as i64
    }

    /// Outliers up to the end of a beat.
    fn through(&self, beat: i64) -> i64 {
        if beat < 0 { 0 } else { self.through[beat as usize] }
    }

    /// Thresholds of a row begin when its scale and the midpoints are there, and when both indices and outliers of the
    /// row before have left.
    fn next_begun(&self, told: &Times, loaded: Option<u64>) -> Option<u64> {
        let row = self.begun.known();
        if row * self.beats == self.count() {
            return None;
        }
        let last = row * self.beats - 1;
        latest([told.behind(row, 1), loaded, self.left.behind(last, 1), self.indexed.behind(last, 1)])
    }

    fn next_read(&self) -> Option<u64> {
        let n = self.read.known();
        match n % self.beats {
            _ if n == self.count() => None,
            0 => self.begun.behind(n / self.beats, THRESHOLDS),
            _ => self.left.behind(n - 1, 0),
        }
    }

    /// Earlier beats that may be in the search at the same time as beat `n`.
    fn ahead(n: i64) -> std::ops::Range<i64> {
        (n - LEVELS as i64 - 2).max(0)..n
    }

    /// A beat enters the search in the first cycle in which the search moves.
    fn next_entered(&self) -> Option<u64> {
        let n = self.entered.known();
        if self.found.known() < n {
            return None;
        }
        let mut time = self.read.behind(n, 1)?;
        for beat in Self::ahead(n) {
            if self.found.behind(beat, 0)? > time {
                break;
            }
            time = time.max(self.indexed.behind(beat, 0)?);
        }
        Some(time)
    }

    /// The indices of a beat are found after so many cycles in which the search moves.
    fn next_found(&self) -> Option<u64> {
        let n = self.found.known();
        let entered = self.entered.behind(n, 0)?;
        let mut moved = entered + LEVELS - 1;
        for beat in Self::ahead(n) {
            let found = self.found.behind(beat, 0)?;
            if found > moved {
                break;
            }
            if found > entered {
                moved += self.indexed.behind(beat, 0)? - found;
            }
        }
        Some(moved + 1)
    }

    /// Outliers of a beat are sent one a cycle, as far as they have room.
    fn next_sent(&self, (gathered, room): (&Times, i64)) -> Option<u64> {
        let n = self.sent.known();
        if n == self.through(self.count() - 1) {
            return None;
        }
        let beat = self.through.partition_point(|&through| through <= n) as i64;
        latest([self.read.behind(beat, 1), self.sent.behind(n - 1, 1), gathered.behind(n - room, 1)])
    }

    /// A beat is finished when it is in the search and its outliers are sent.
    fn next_left(&self) -> Option<u64> {
        let n = self.left.known();
        let sent = if n < self.count() && self.through(n) > self.through(n - 1) {
            self.sent.behind(self.through(n) - 1, 0)
        } else {
            Some(0)
        };
        latest([self.entered.behind(n, 0), sent])
    }

    /// `told`: when scale and count of each row were handed over. `loaded`: when the midpoints are there. `outliers`:
    /// when outliers left the FIFO, and for how many it has room. `free(n)`: when the indices of beat `n` have room.
    pub fn advance(
        &mut self,
        (told, loaded): (&Times, Option<u64>),
        outliers: (&Times, i64),
        free: impl Fn(i64) -> Option<u64>,
    ) -> bool {
        let mut all = false;
        loop {
            let indexed = self.indexed.known();
            let next = [
                (self.next_begun(told, loaded), 0),
                (self.next_read(), 1),
                (self.next_entered(), 2),
                (self.next_found(), 3),
                (latest([self.found.behind(indexed, 0), free(indexed)]), 4),
                (self.next_sent(outliers), 5),
                (self.next_left(), 6),
            ];
            let mut moved = false;
            for (time, kind) in next {
                let Some(time) = time else { continue };
                let times = match kind {
                    0 => &mut self.begun,
                    1 => &mut self.read,
                    2 => &mut self.entered,
                    3 => &mut self.found,
                    4 => &mut self.indexed,
                    5 => &mut self.sent,
                    _ => &mut self.left,
                };
                times.push(time);
                moved = true;
            }
            if !moved {
                return all;
            }
            all = true;
        }
    }
}
