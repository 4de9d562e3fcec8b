//! Integers with a scale that some values share.

use std::ops::Range;

/// Where the codes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 2^bits - 1 codes around 0.
    Symmetric,
    /// 2^bits codes from the smallest to the largest value, one of which is exactly 0.
    ZeroPoint,
}

/// Integers to the nearest, ties to even.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integers {
    /// Bits of a code, 2 or more.
    pub bits: u32,
    /// Where the codes are.
    pub form: Form,
    /// Share of the range that is kept; values beyond it saturate.
    pub clip: f64,
}

/// Values of one scale: multiples of range / steps between two ends. As everywhere in these models the code of x is
/// x * steps / range, rounded: another form rounds ties to other sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    steps: f64,
    range: f64,
    ends: [f64; 2],
}

impl Integers {
    /// Symmetric ones over the whole range.
    #[must_use]
    pub fn symmetric(bits: u32) -> Self {
        Self { bits, form: Form::Symmetric, clip: 1.0 }
    }

    /// The scale of some values.
    #[must_use]
    pub fn scale(&self, values: impl IntoIterator<Item = f64>) -> Scale {
        let ends = values.into_iter().fold((0.0, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
        let (low, high) = (ends.0 * self.clip, ends.1 * self.clip);
        match self.form {
            Form::Symmetric => {
                let last = f64::from((1 << (self.bits - 1)) - 1);
                Scale { steps: last, range: high.max(-low), ends: [-last, last] }
            }
            Form::ZeroPoint => {
                let last = f64::from((1 << self.bits) - 1);
                let range = high - low;
                let zero = if range == 0.0 { 0.0 } else { (-low * last / range).round_ties_even() };
                Scale { steps: last, range, ends: [-zero, last - zero] }
            }
        }
    }

    /// The numbers that the codes of some values stand for.
    #[must_use]
    pub fn round(&self, values: &[f64]) -> Vec<f64> {
        let scale = self.scale(values.iter().copied());
        values.iter().map(|&x| scale.nearest(x)).collect()
    }
}

impl Scale {
    /// The nearest number that has a code.
    #[must_use]
    pub fn nearest(&self, x: f64) -> f64 {
        if self.range == 0.0 {
            return 0.0;
        }
        let code = (x * self.steps / self.range).round_ties_even().clamp(self.ends[0], self.ends[1]);
        code * self.range / self.steps
    }
}

/// The channels of a row in groups with a scale each.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Channels in the order of groups.
    pub order: Vec<usize>,
    /// Groups: places in `order`, and how they are rounded.
    pub groups: Vec<(Range<usize>, Integers)>,
}

impl Columns {
    /// Groups of `group` neighbours; 0: all in one group.
    #[must_use]
    pub fn new(width: usize, group: usize, integers: Integers) -> Self {
        let group = if group == 0 { width.max(1) } else { group };
        let groups = (0..width).step_by(group).map(|from| (from..(from + group).min(width), integers)).collect();
        Self { order: (0..width).collect(), groups }
    }

    /// A row after rounding.
    #[must_use]
    pub fn round(&self, row: &[f64]) -> Vec<f64> {
        let mut result = row.to_vec();
        for (range, integers) in &self.groups {
            let places = &self.order[range.clone()];
            let scale = integers.scale(places.iter().map(|&place| row[place]));
            places.iter().for_each(|&place| result[place] = scale.nearest(row[place]));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_hand() {
        let symmetric = Integers::symmetric(3);
        assert_eq!(symmetric.round(&[3.0, -1.4, 0.5, -3.0, 1.5]), [3.0, -1.0, 0.0, -3.0, 2.0]);
        assert_eq!(symmetric.round(&[0.0, 0.0]), [0.0, 0.0]);
        // Half of the range: steps of 0.5, and what is beyond 1.5 saturates.
        let clipped = Integers { clip: 0.5, ..symmetric };
        assert_eq!(clipped.round(&[3.0, -1.4, 0.6, -3.0]), [1.5, -1.5, 0.5, -1.5]);
        let zero_point = Integers { form: Form::ZeroPoint, ..symmetric };
        assert_eq!(zero_point.round(&[-2.0, 5.0, 0.0, 0.4, 4.6]), [-2.0, 5.0, 0.0, 0.0, 5.0]);
        // A range without 0 has a code for 0 all the same.
        assert_eq!(zero_point.round(&[7.0, 3.6]), [7.0, 4.0]);
    }

    #[test]
    fn groups_have_scales_of_their_own() {
        let row = [1.0, 0.3, 30.0, 10.0, 0.7];
        let columns = Columns::new(5, 2, Integers::symmetric(2));
        assert_eq!(columns.round(&row), [1.0, 0.0, 30.0, 0.0, 0.7]);
        // In another order, and with other bits for the last group: steps of 1/3, and of 10 and 10.
        let mixed = Columns {
            order: vec![0, 1, 4, 2, 3],
            groups: vec![(0..3, Integers::symmetric(3)), (3..5, Integers::symmetric(3))],
        };
        let found = mixed.round(&row);
        assert_eq!([found[0], found[2], found[3]], [1.0, 30.0, 10.0]);
        assert!((found[1] - 1.0 / 3.0).abs() < 1e-12 && (found[4] - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(Columns::new(5, 0, Integers::symmetric(4)).groups.len(), 1);
    }
}
