//! Work on all cores.

use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread;

/// So few steps take less time than a thread.
const ALONE: usize = 1 << 17;

/// The number of cores. To ask the system takes as long as a small product.
static CORES: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));

/// The results of parts of `0..count`, in their order: about equal parts, one for each core. Few `steps` in all are one
/// part.
pub fn shares<T: Send>(count: usize, steps: usize, part: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = if steps < ALONE { 1 } else { *CORES };
    let share = count.div_ceil(cores).max(1);
    if share >= count {
        return vec![part(0..count)];
    }
    let part = &part;
    thread::scope(|scope| {
        let of = |from: usize| from..(from + share).min(count);
        let others: Vec<_> = (share..count).step_by(share).map(|from| scope.spawn(move || part(of(from)))).collect();
        let mut all = vec![part(of(0))];
        all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_their_order() {
        for (count, steps) in [(0, 0), (1, ALONE), (5, 0), (7, ALONE), (1000, ALONE)] {
            let parts = shares(count, steps, |range| range.collect::<Vec<_>>());
            assert_eq!(parts.concat(), (0..count).collect::<Vec<_>>());
            assert!(parts.len() <= if steps < ALONE { 1 } else { *CORES }, "{} parts of {count}", parts.len());
        }
    }

    #[test]
    #[should_panic(expected = "number 999")]
    fn panics_go_on() {
        shares(1000, ALONE, |mut range| assert!(!range.contains(&999), "number {:?}", range.next_back().unwrap_or(0)));
    }
}
