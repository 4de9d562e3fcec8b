//! A weight-stationary array: partial sums pass the rows, and accumulators add them up. [`result`] is the arithmetic of
//! one sum; [`Stationary`] takes beats in any order, legal or not.

use std::collections::VecDeque;

use super::accumulator::{Accumulator, Overflow};

/// One row of a fold, as a partial sum passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Activation times weight.
    pub product: i128,
    /// Whether the partial sum is doubled after this row, because the next channel is in the next group.
    pub doubles: bool,
}

/// One result from the folds in order. Each fold passes all its rows in `partial_width` bits. Then an accumulator of
/// `width` bits is doubled as often as the fold's rows double, and the partial sum is added.
///
/// The flag says whether any partial sum or the accumulator left its range.
///
/// # Errors
/// [`Accumulator::new`] refuses the width.
pub fn result(folds: &[Vec<Row>], partial_width: u32, width: u32, policy: Overflow) -> Result<(i128, bool), String> {
    let mut total = Accumulator::new(width, policy)?;
    let mut flag = false;
    for fold in folds {
        let mut partial = Accumulator::new(partial_width, policy)?;
        for row in fold {
            partial.add(row.product);
            if row.doubles {
                partial.shift(1);
            }
        }
        let (value, overflowed) = partial.get();
        flag |= overflowed;
        for _ in fold.iter().filter(|row| row.doubles) {
            total.shift(1);
        }
        total.add(value);
    }
    Ok((total.get().0, flag | total.get().1))
}

/// The output of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The sum; `None` if it depends on a value that was never given.
    pub sum: Option<i128>,
    /// Whether some step was not exact, or the number of the sum does not exist.
    pub flag: Option<bool>,
}

/// A row of weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Weights by column.
    pub weights: Vec<i64>,
    /// Whether a channel group ends after this row.
    pub doubles: bool,
}

/// An activation vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Whether the sum starts again.
    pub first: bool,
    /// Whether the sum leaves.
    pub last: bool,
    /// Number of the sum.
    pub index: usize,
    /// Activations by row.
    pub acts: Vec<i64>,
}

/// The state of an array: the last loaded rows, and the sums.
#[derive(Clone, Debug)]
pub struct Stationary {
    width: u32,
    columns: usize,
    /// Top row first; `None` for rows that were not loaded since the reset.
    rows: VecDeque<Option<Weights>>,
    /// Sums by number and column; `None` if a sum depends on an unknown value.
    sums: Vec<Vec<Option<Accumulator>>>,
}

impl Stationary {
    /// An array after reset: `depth` sums of `width` bits in each column.
    ///
    /// # Errors
    /// [`Accumulator::new`] refuses the width.
    pub fn new(rows: usize, columns: usize, depth: usize, width: u32) -> Result<Self, String> {
        Accumulator::new(width, Overflow::Wrap)?;
        Ok(Self { width, columns, rows: vec![None; rows].into(), sums: vec![vec![None; columns]; depth] })
    }

    /// Weights enter at the top. All other rows move down, and the weights of the bottom row are lost.
    pub fn load(&mut self, row: Weights) {
        self.rows.pop_back();
        self.rows.push_front(Some(row));
    }

    /// A vector passes the array. If it is the last one of its sum, returns the outputs of all columns.
    pub fn step(&mut self, vector: &Vector) -> Option<Vec<Shown>> {
        let exists = vector.index < self.sums.len();
        let shown = (0..self.columns).map(|c| {
            let before = self.sums.get(vector.index).and_then(|sums| sums[c].clone());
            let sum = self.add(before, vector, c);
            if let Some(sums) = self.sums.get_mut(vector.index) {
                sums[c].clone_from(&sum);
            }
            let flag = if exists { sum.as_ref().map(|sum| sum.get().1) } else { Some(true) };
            Shown { sum: sum.map(|sum| sum.get().0), flag }
        });
        let shown: Vec<Shown> = shown.collect();
        vector.last.then_some(shown)
    }

    /// The sum of column `c` after `vector`.
    fn add(&self, before: Option<Accumulator>, vector: &Vector, c: usize) -> Option<Accumulator> {
        let mut partial = Accumulator::new(self.width, Overflow::Wrap).ok()?;
        let mut sum = if vector.first { partial.clone() } else { before? };
        for (row, &act) in self.rows.iter().zip(&vector.acts) {
            let row = row.as_ref()?;
            partial.add(i128::from(act) * i128::from(row.weights[c]));
            if row.doubles {
                partial.shift(1);
                sum.shift(1);
            }
        }
        let (value, overflowed) = partial.get();
        sum.add(value);
        if overflowed {
            sum.flag();
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(weight: i64, doubles: bool) -> Weights {
        Weights { weights: vec![weight], doubles }
    }

    fn vector(first: bool, index: usize, acts: [i64; 2]) -> Vector {
        Vector { first, last: true, index, acts: acts.into() }
    }

    #[test]
    fn the_first_load_goes_to_the_bottom() {
        let mut array = Stationary::new(2, 1, 2, 8).unwrap();
        let step = |array: &mut Stationary, vector| array.step(&vector).unwrap()[0];
        array.load(row(3, true));
        let unknown = Shown { sum: None, flag: None };
        assert_eq!(step(&mut array, vector(true, 0, [1, 1])), unknown);
        array.load(row(5, false));
        // Top row 5, bottom row 3, which doubles.
        let shown = |sum, flag| Shown { sum: Some(sum), flag: Some(flag) };
        assert_eq!(step(&mut array, vector(false, 0, [2, 1])), unknown);
        assert_eq!(step(&mut array, vector(true, 0, [2, 1])), shown(26, false));
        assert_eq!(step(&mut array, vector(false, 0, [1, 0])), shown(62, false));
        // One more row: 7 on top, 5 below. 3 is lost, and with it the doubling.
        array.load(row(7, false));
        assert_eq!(step(&mut array, vector(false, 0, [1, 1])), shown(74, false));
        assert_eq!(step(&mut array, vector(false, 0, [15, 0])), shown(74 + 105 - 256, true));
        assert_eq!(step(&mut array, vector(true, 2, [1, 1])), shown(12, true));
    }

    #[test]
    fn beats_and_results_agree() {
        let folds = [[(3, true), (-2, false)], [(7, true), (7, true)]];
        let product = folds.map(|fold| fold.map(|(product, doubles)| Row { product, doubles }).to_vec());
        let mut array = Stationary::new(2, 1, 2, 8).unwrap();
        let mut last = None;
        for (i, fold) in folds.iter().enumerate() {
            for (weight, doubles) in fold.iter().rev() {
                array.load(row(*weight as i64, *doubles));
            }
            last = array.step(&vector(i == 0, 1, [1, 1]));
        }
        let (sum, flag) = result(&product, 8, 8, Overflow::Wrap).unwrap();
        assert_eq!(last, Some(vec![Shown { sum: Some(sum), flag: Some(flag) }]));
    }
}
