//! A row whose outliers are known, beat by beat: its thresholds, its indices, its outliers.

use crate::systems::cycles::{Times, latest};

/// Cycles from a scale to its last threshold, and until the first beat of its row is read.
const THRESHOLDS: u64 = 22;
/// Cycles in which a beat goes from level to level of the search, all beats or none; at most so many are inside.
const LEVELS: u64 = 4;

/// Rows on their way to indices and outliers.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// Beats of a row, and outliers up to the end of each beat of all rows.
    beats: i64,
    through: Vec<i64>,
    /// When the thresholds of each row began.
    pub begun: Times,
    /// When each beat was read, went into the search, was done with.
    read: Times,
    entered: Times,
    pub left: Times,
    /// When its indices were found, and went to a beat of the bus. Nothing moves in between.
    found: Times,
    pub indexed: Times,
    /// When each outlier was sent.
    pub sent: Times,
}

impl Scan {
    /// Rows of so many beats; of all beats, how many outliers are in each.
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

    /// Thresholds of a row begin when its scale and the midpoints are there, and both indices and outliers of the row before
    /// have left.
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

    /// Beats that may be in the search when beat `n` is.
    fn ahead(n: i64) -> std::ops::Range<i64> {
        (n - LEVELS as i64 - 2).max(0)..n
    }

    /// A beat goes into the search in the first cycle in which this moves.
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

    /// Its indices are found behind so many cycles in which the search moves.
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

    /// Outliers of a beat are sent one a cycle, as far as there is room for them.
    fn next_sent(&self, (gathered, room): (&Times, i64)) -> Option<u64> {
        let n = self.sent.known();
        if n == self.through(self.count() - 1) {
            return None;
        }
        let beat = self.through.partition_point(|&through| through <= n) as i64;
        latest([self.read.behind(beat, 1), self.sent.behind(n - 1, 1), gathered.behind(n - room, 1)])
    }

    /// A beat is done with when it is in the search and its outliers are sent.
    fn next_left(&self) -> Option<u64> {
        let n = self.left.known();
        let sent = if n < self.count() && self.through(n) > self.through(n - 1) {
            self.sent.behind(self.through(n) - 1, 0)
        } else {
            Some(0)
        };
        latest([self.entered.behind(n, 0), sent])
    }

    /// `told`: what is known of each row; `loaded`: when midpoints are; `gathered`: outliers that have left the FIFO, which has room for
    /// so many; `free(n)`: when the indices of beat `n` have room.
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
