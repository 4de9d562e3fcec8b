//! When a ready/valid partner pauses.

use rand::RngExt;

use super::{StimulusRng, rng_for};

/// A rule for pausing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// Full speed.
    Never,
    /// Pauses in `num` of `den` cycles, at random. `num` of at least `den` is taken as one less, so that there is
    /// progress.
    Random {
        /// Paused cycles...
        num: u32,
        /// ...of so many.
        den: u32,
    },
    /// Runs for 1 to `run` cycles, then pauses for 1 to `gap`, lengths at random: fills and empties buffers.
    Bursts {
        /// Longest run.
        run: u32,
        /// Longest pause.
        gap: u32,
    },
    /// Runs in every `n`-th cycle only.
    OneIn(u32),
}

impl Stall {
    /// The patterns that every stream should be tested with.
    pub const ALL: [Self; 5] = [
        Self::Never,
        Self::Random { num: 1, den: 2 },
        Self::Random { num: 9, den: 10 },
        Self::Bursts { run: 12, gap: 12 },
        Self::OneIn(4),
    ];

    /// The pattern of this rule for one stream of a run.
    pub fn pattern(self, seed: u64, label: &str) -> StallPattern {
        StallPattern { rule: self, rng: rng_for(seed, label), paused: true, left: 0 }
    }
}

/// One decision per cycle, fixed by rule, seed and label.
#[derive(Clone, Debug)]
pub struct StallPattern {
    rule: Stall,
    rng: StimulusRng,
    paused: bool,
    left: u32,
}

impl StallPattern {
    /// Whether the partner pauses in this cycle; each call is the next cycle.
    pub fn next_pause(&mut self) -> bool {
        match self.rule {
            Stall::Never => false,
            Stall::Random { num, den } => {
                let den = den.max(1);
                self.rng.random_range(0..den) < num.min(den - 1)
            }
            Stall::Bursts { run, gap } => {
                if self.left == 0 {
                    self.paused = !self.paused;
                    let longest = if self.paused { gap } else { run };
                    self.left = self.rng.random_range(1..=longest.max(1));
                }
                self.left -= 1;
                self.paused
            }
            Stall::OneIn(n) => {
                self.left = if self.left == 0 { n.max(1) - 1 } else { self.left - 1 };
                self.left != 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(rule: Stall) -> Vec<bool> {
        let mut pattern = rule.pattern(5, "x");
        (0..4000).map(|_| pattern.next_pause()).collect()
    }

    #[test]
    fn patterns_pause_as_often_as_they_say() {
        let share = |rule| pauses(rule).iter().filter(|&&p| p).count();
        assert_eq!(share(Stall::Never), 0);
        assert_eq!(share(Stall::OneIn(4)), 3000);
        assert!((1850..2150).contains(&share(Stall::Random { num: 1, den: 2 })));
        assert!((3500..3700).contains(&share(Stall::Random { num: 9, den: 10 })));
        assert!((1700..2300).contains(&share(Stall::Bursts { run: 12, gap: 12 })));
    }

    #[test]
    fn every_pattern_makes_progress_and_repeats() {
        let rules = [
            Stall::Random { num: 5, den: 5 },
            Stall::Random { num: 1, den: 0 },
            Stall::OneIn(0),
            Stall::Bursts { run: 0, gap: 0 },
        ];
        for rule in rules.into_iter().chain(Stall::ALL) {
            assert!(pauses(rule).contains(&false), "{rule:?}");
            assert_eq!(pauses(rule), pauses(rule));
        }
    }
}
