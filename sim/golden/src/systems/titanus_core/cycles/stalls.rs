//! Arithmetic that stands still as a whole while a result waits.

use crate::systems::cycles::Times;

/// Results at its end: when each is there, and when it is taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Stalls {
    pub shown: Times,
    pub taken: Times,
}

impl Stalls {
    /// The first cycle from `time` on in which nothing waits, once it is known.
    pub fn moves(&self, time: u64) -> Option<u64> {
        // Of the results that are there by then, the last one; those before it have been taken.
        let last = (0..self.shown.known()).rev().find(|&n| self.shown.behind(n, 0).is_some_and(|shown| shown <= time));
        match last {
            Some(n) => self.taken.behind(n, 0).map(|taken| taken.max(time)),
            None => Some(time),
        }
    }

    /// The same behind so many cycles that move.
    pub fn moves_behind(&self, time: u64, cycles: u64) -> Option<u64> {
        (0..cycles).try_fold(time, |time, _| self.moves(time + 1))
    }
}
