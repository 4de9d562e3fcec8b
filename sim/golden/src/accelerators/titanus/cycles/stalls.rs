//! Arithmetic that stalls as a whole while a result waits.

use crate::accelerators::cycles::Times;

/// The results at its end: when each is there, and when each is taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Stalls {
    pub shown: Times,
    pub taken: Times,
}

impl Stalls {
    /// The first cycle from `time` on in which no result waits, once it is known.
    pub fn moves(&self, time: u64) -> Option<u64> {
        // The last one of the results that are there at `time`. Earlier results have been taken.
        let last = (0..self.shown.known()).rev().find(|&n| self.shown.behind(n, 0).is_some_and(|shown| shown <= time));
        match last {
            Some(n) => self.taken.behind(n, 0).map(|taken| taken.max(time)),
            None => Some(time),
        }
    }

    /// The cycle after `time` that completes so many cycles without a stall.
    pub fn moves_behind(&self, time: u64, cycles: u64) -> Option<u64> {
        (0..cycles).try_fold(time, |time, _| self.moves(time + 1))
    }
}
