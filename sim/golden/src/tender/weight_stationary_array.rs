//! A weight-stationary array: partial sums pass the rows, then meet an accumulator of their own.

use super::accumulator::{Accumulator, Overflow};

/// One row of a fold, as a partial sum meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Activation times weight.
    pub product: i128,
    /// The partial sum is doubled behind this row: the next channel is of the next group.
    pub doubles: bool,
}

/// One result: the folds in order, each through all its rows in `partial_width` bits, then into an accumulator of
/// `width` bits that is doubled first as often as the fold's rows double.
///
/// The flag tells whether any partial sum or the accumulator left its range.
///
/// # Errors
/// A width that [`Accumulator::new`] refuses.
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
