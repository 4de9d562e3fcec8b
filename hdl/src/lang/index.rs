//! Indices of arrays: constants, or affine expressions over loop variables.

use std::ops::{Add, Mul, Sub};

/// At most this many nested loops take part in one index.
const MAX_TERMS: usize = 4;

/// Offset of an index that cannot be expressed; the bounds check of the array reports it.
pub(crate) const OUT_OF_ALL_BOUNDS: i64 = i64::MIN / 4;

/// An array index that is affine in the loop variables of the generate loops around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Index {
    pub(crate) offset: i64,
    /// (genvar, coefficient), sorted by genvar, coefficient 0 = unused place.
    terms: [(u32, i64); MAX_TERMS],
}

impl Index {
    pub(crate) fn genvar(id: u32) -> Self {
        let mut terms = [(0, 0); MAX_TERMS];
        terms[0] = (id, 1);
        Self { offset: 0, terms }
    }

    pub(crate) fn constant(self) -> Option<i64> {
        self.terms().next().is_none().then_some(self.offset)
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = (u32, i64)> {
        self.terms.into_iter().filter(|t| t.1 != 0)
    }

    /// Value for given loop variables: `value(genvar)`.
    #[cfg(test)]
    pub(crate) fn eval(&self, value: impl Fn(u32) -> i64) -> i64 {
        self.terms().fold(self.offset, |sum, (id, c)| sum.saturating_add(c.saturating_mul(value(id))))
    }

    /// Smallest and largest value when each genvar runs over `0..count(genvar)`.
    pub(crate) fn bounds(&self, count: impl Fn(u32) -> u32) -> (i64, i64) {
        let (mut low, mut high) = (self.offset, self.offset);
        for (id, c) in self.terms() {
            let last = i64::from(count(id)) - 1;
            low = low.saturating_add(c.saturating_mul(last).min(0));
            high = high.saturating_add(c.saturating_mul(last).max(0));
        }
        (low, high)
    }

    /// All values over the iterations of `loops` (genvar, count).
    pub(crate) fn values(&self, loops: &[(u32, u32)]) -> Vec<i64> {
        let mut values = vec![self.offset];
        for (id, c) in self.terms() {
            let count = loops.iter().find(|l| l.0 == id).map_or(1, |l| i64::from(l.1));
            values = values.iter().flat_map(|v| (0..count).map(move |i| v + c * i)).collect();
        }
        values
    }

    fn add_term(&mut self, id: u32, coefficient: i64) {
        if let Some(t) = self.terms.iter_mut().find(|t| t.1 != 0 && t.0 == id) {
            t.1 = t.1.saturating_add(coefficient);
        } else if let Some(t) = self.terms.iter_mut().find(|t| t.1 == 0) {
            *t = (id, coefficient);
        } else {
            // Five loops in one index: poison the offset so that the bounds check reports it.
            self.offset = OUT_OF_ALL_BOUNDS;
        }
        self.terms.sort_by_key(|t| (t.1 == 0, t.0));
    }
}

macro_rules! from_integer {
    ($($t:ty),*) => {$(
        impl From<$t> for Index {
            fn from(value: $t) -> Self {
                Self { offset: i64::try_from(value).unwrap_or(i64::MAX), terms: [(0, 0); MAX_TERMS] }
            }
        }
    )*};
}
from_integer!(i32, u32, i64, u64, usize);

impl<T: Into<Index>> Add<T> for Index {
    type Output = Index;
    fn add(mut self, other: T) -> Index {
        let other = other.into();
        self.offset = self.offset.saturating_add(other.offset);
        for (id, c) in other.terms() {
            self.add_term(id, c);
        }
        self
    }
}

impl<T: Into<Index>> Sub<T> for Index {
    type Output = Index;
    fn sub(self, other: T) -> Index {
        self + other.into() * -1
    }
}

impl<T: TryInto<i64>> Mul<T> for Index {
    type Output = Index;
    fn mul(mut self, factor: T) -> Index {
        let factor = factor.try_into().unwrap_or(OUT_OF_ALL_BOUNDS);
        self.offset = self.offset.saturating_mul(factor);
        for t in &mut self.terms {
            t.1 = t.1.saturating_mul(factor);
        }
        self.terms.sort_by_key(|t| (t.1 == 0, t.0));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affine_arithmetic() {
        let (r, c) = (Index::genvar(1), Index::genvar(0));
        let i = (r + 1) * 17 + c - 2;
        assert_eq!(i.eval(|id| [5, 3][id as usize]), (3 + 1) * 17 + 5 - 2);
        assert_eq!(i.bounds(|_| 4), (15, 15 + 51 + 3));
        assert_eq!((r - r).constant(), Some(0));
        assert_eq!((Index::from(7) - r).bounds(|_| 8), (0, 7));
    }
}
