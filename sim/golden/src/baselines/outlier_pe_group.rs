//! The PE group of OLAccel: whole weights, in two halves. The lanes take one half, and the extra multiplier takes the
//! other.

use crate::tender::accumulator::{Accumulator, Overflow};

/// The inputs of one cycle.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Whether the sums start again.
    pub first: bool,
    /// Whether this is the last step of the tile.
    pub last: bool,
    /// The activation.
    pub act: i64,
    /// The lanes' weights or halves.
    pub weights: Vec<i64>,
    /// Whether the halves are upper ones.
    pub upper: bool,
    /// Upper half of the outlier.
    pub outlier: i64,
    /// Its lane.
    pub outlier_lane: usize,
    /// Whether the row starts to shift.
    pub drain: bool,
    /// The value that enters the first lane.
    pub entering: (i64, bool),
}

/// Two halves of a weight, lower and upper: weight = upper x 2^width + lower.
///
/// # Errors
/// The weight has no such halves of `width` bits.
pub fn halves(weight: i64, width: u32) -> Result<[i64; 2], String> {
    let half = 1i64 << (width - 1);
    let lower = (weight + half).rem_euclid(2 * half) - half;
    let upper = (weight - lower) / (2 * half);
    if !(-half..half).contains(&upper) {
        let (low, high) = (-half * (2 * half + 1), (half - 1) * (2 * half + 1));
        return Err(format!("weight is {weight}, allowed: {low} to {high}"));
    }
    Ok([lower, upper])
}

/// Steps of the lanes for one activation and these weights. The extra multiplier serves one weight that needs its upper
/// half.
#[must_use]
pub fn steps(weights: &[i64], width: u32) -> u32 {
    let narrow = -(1i64 << (width - 1))..1i64 << (width - 1);
    let outliers = weights.iter().filter(|weight| !narrow.contains(weight)).count();
    if outliers > 1 { 2 } else { 1 }
}

/// The state of a group.
#[derive(Clone, Debug)]
pub struct OutlierPeGroup {
    weight_width: u32,
    sums: Vec<Accumulator>,
    /// Whether a tile has begun since the reset.
    known: bool,
    /// The registers next to the sums; `None` for undefined ones.
    row: Vec<Option<(i64, bool)>>,
    complete: bool,
    waits: bool,
}

impl OutlierPeGroup {
    /// A group after reset.
    ///
    /// # Errors
    /// [`Accumulator::new`] refuses the width of sums.
    pub fn new(lanes: usize, weight_width: u32, accumulator_width: u32) -> Result<Self, String> {
        let sum = Accumulator::new(accumulator_width, Overflow::Wrap)?;
        let row = vec![None; lanes];
        Ok(Self { weight_width, sums: vec![sum; lanes], known: false, row, complete: false, waits: false })
    }

    /// Whether a step of some sum did not fit.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.sums.iter().any(|sum| sum.get().1)
    }

    /// One cycle. Returns the last place of the row after it.
    pub fn step(&mut self, cycle: &Cycle) -> Option<(i64, bool)> {
        let sums = self.sums.iter().map(Accumulator::get).map(|(sum, flag)| self.known.then_some((sum as i64, flag)));
        if self.complete {
            self.row = sums.collect();
        } else if cycle.drain || !self.waits {
            self.row.rotate_right(1);
            self.row[0] = Some(cycle.entering);
        }
        self.waits = self.complete || (self.waits && !cycle.drain);
        self.complete = cycle.last;
        self.known |= cycle.first;
        for (k, (sum, &weight)) in self.sums.iter_mut().zip(&cycle.weights).enumerate() {
            if cycle.first {
                sum.clear();
            }
            let scale = i128::from(cycle.upper) * ((1 << self.weight_width) - 1) + 1;
            let outlier = if k == cycle.outlier_lane { i128::from(cycle.outlier) << self.weight_width } else { 0 };
            sum.add(i128::from(cycle.act) * (i128::from(weight) * scale + outlier));
        }
        self.row.last().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(act: i64, weights: [i64; 2]) -> Cycle {
        let weights = weights.to_vec();
        let entering = (9, true);
        Cycle {
            first: false,
            last: false,
            act,
            weights,
            upper: false,
            outlier: 0,
            outlier_lane: 0,
            drain: false,
            entering,
        }
    }

    #[test]
    fn every_weight_has_its_halves() {
        for weight in -136..=119 {
            let [lower, upper] = halves(weight, 4).unwrap();
            assert!((-8..8).contains(&lower) && (-8..8).contains(&upper));
            assert_eq!(16 * upper + lower, weight);
        }
        assert_eq!(halves(120, 4).unwrap_err(), "weight is 120, allowed: -136 to 119");
        assert!(halves(-137, 4).is_err());
        assert_eq!([steps(&[7, -8, 3], 4), steps(&[7, 8, 3], 4), steps(&[-9, 8, 3], 4)], [1, 1, 2]);
    }

    /// -3 x 100 in lane 1 with the extra multiplier; then 5 x (-20, 50), two outliers, in two steps.
    #[test]
    fn outliers_by_hand() {
        let mut group = OutlierPeGroup::new(2, 4, 16).unwrap();
        let [low, high] = halves(100, 4).unwrap();
        assert_eq!([low, high], [4, 6]);
        group.step(&Cycle { first: true, outlier: high, outlier_lane: 1, ..cycle(-3, [7, low]) });
        let [a, b] = [-20, 50].map(|weight| halves(weight, 4).unwrap());
        group.step(&cycle(5, [a[0], b[0]]));
        group.step(&Cycle { upper: true, last: true, ..cycle(5, [a[1], b[1]]) });
        // -300 + 250 in the last lane, and -21 - 100 after it.
        assert_eq!(group.step(&cycle(0, [0, 0])), Some((-50, false)));
        assert_eq!(group.step(&cycle(0, [0, 0])), Some((-50, false)));
        let drain = Cycle { drain: true, ..cycle(0, [0, 0]) };
        assert_eq!(group.step(&drain), Some((-121, false)));
        assert_eq!(group.step(&cycle(0, [0, 0])), Some((9, true)));
    }

    #[test]
    fn what_is_not_defined_is_not_shown() {
        let mut group = OutlierPeGroup::new(2, 4, 16).unwrap();
        assert_eq!(group.step(&Cycle { last: true, ..cycle(0, [0, 0]) }), None);
        // The first value that entered would be here now, but undefined sums took its place.
        assert_eq!(group.step(&cycle(0, [0, 0])), None);
    }
}
