//! Accelerators on the same work, memory and clock, at equal area of logic. Which one is faster, and why?
//!
//! Machines smaller than the largest get copies until the areas are equal, fractions too, and copies share the work
//! evenly. Memory moves so many bytes a cycle while the machines compute.

use super::Cost;

/// What a machine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Its own cycles.
    Compute,
    /// Memory.
    Bandwidth,
    /// It has no room for the work.
    Capacity,
}

impl Bound {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Bandwidth => "bandwidth",
            Self::Capacity => "capacity",
        }
    }
}

/// Cycles of some work on so many copies of a machine, and what they wait for; `bandwidth` is in bytes a cycle.
#[must_use]
pub fn time(cost: &Cost, copies: f64, bandwidth: f64) -> (f64, Bound) {
    let (compute, memory) = (cost.cycles as f64 / copies, cost.bytes as f64 / bandwidth);
    if memory > compute { (memory, Bound::Bandwidth) } else { (compute, Bound::Compute) }
}

/// The end of a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Race {
    /// No machine has room for the work.
    Nobody,
    /// The first two are as fast, within the margin.
    Even,
    /// One machine is the fastest.
    Won {
        /// Its number.
        by: usize,
        /// How many times as long the next one takes; infinity if no other machine has room.
        ratio: f64,
        /// What the next one waits for: so this is why it lost.
        why: Bound,
    },
}

/// The fastest machine. Each has its cycles and what they wait for, or no room for the work. A lead of up to `margin`, a
/// share of the time, is none.
#[must_use]
pub fn race(times: &[Option<(f64, Bound)>], margin: f64) -> Race {
    let mut all: Vec<(f64, Bound, usize)> =
        times.iter().enumerate().filter_map(|(k, time)| time.map(|(time, bound)| (time, bound, k))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    match all[..] {
        [] => Race::Nobody,
        [(.., by)] => Race::Won { by, ratio: f64::INFINITY, why: Bound::Capacity },
        [(least, _, by), (next, why, _), ..] => {
            let ratio = next / least;
            if ratio > 1.0 + margin { Race::Won { by, ratio, why } } else { Race::Even }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One machine computes twice as fast on twice the area, the other one moves half of the bytes.
    #[test]
    fn equal_area_and_bandwidth_decide() {
        let cost = |cycles, bytes| Cost { cycles, bytes, products: cycles, ..Cost::default() };
        let (large, small) = (cost(1_000, 100_000), cost(2_000, 50_000));
        let at = |bandwidth| [Some(time(&large, 1.0, bandwidth)), Some(time(&small, 2.0, bandwidth))];
        assert_eq!(at(16.0), [Some((6250.0, Bound::Bandwidth)), Some((3125.0, Bound::Bandwidth))]);
        assert_eq!(race(&at(16.0), 0.01), Race::Won { by: 1, ratio: 2.0, why: Bound::Bandwidth });
        assert_eq!(at(1024.0)[1], Some((1000.0, Bound::Compute)));
        assert_eq!(race(&at(1024.0), 0.01), Race::Even);
        // The small one has no room for more tokens, so there is no next one.
        let alone = Race::Won { by: 0, ratio: f64::INFINITY, why: Bound::Capacity };
        assert_eq!(race(&[at(16.0)[0], None], 0.01), alone);
        assert_eq!(race(&[None, None], 0.01), Race::Nobody);
        assert_eq!(Bound::Capacity.name(), "capacity");
    }
}
