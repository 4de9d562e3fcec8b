//! Times of events, as far as they are known.

/// The cycles in which the events of one kind happen, in their order.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<u64>);

impl Times {
    /// How many times are known.
    pub fn known(&self) -> i64 {
        self.0.len() as i64
    }

    /// The time `cycles` after event `n`. An event before the first one is no reason to wait.
    pub fn behind(&self, n: i64, cycles: u64) -> Option<u64> {
        if n < 0 { Some(0) } else { self.0.get(n as usize).map(|time| time + cycles) }
    }

    /// Adds the next time.
    pub fn push(&mut self, time: u64) {
        self.0.push(time);
    }
}

/// The latest of all, once all are known.
pub fn latest<const N: usize>(times: [Option<u64>; N]) -> Option<u64> {
    times.into_iter().try_fold(0, |latest, time| Some(latest.max(time?)))
}

/// Adds times of events to the known times, as long as the next one is known; the first argument then becomes true. A
/// macro, since the next time depends on other times of the same flow.
///
/// ```
/// use golden::accelerators::cycles::{Times, extend};
///
/// let (mut moved, mut beats, mut records) = (false, Times::default(), Times::default());
/// [3, 5, 9].map(|time| beats.push(time));
/// // A record leaves two cycles after each second beat.
/// extend!(moved, records, beats.behind(2 * records.known() + 1, 2));
/// assert_eq!((moved, records.known(), records.behind(0, 0)), (true, 1, Some(7)));
/// ```
#[macro_export]
macro_rules! extend {
    ($moved:ident, $times:expr, $next:expr $(,)?) => {
        while let Some(time) = $next {
            $times.push(time);
            $moved = true;
        }
    };
}
pub use extend;
