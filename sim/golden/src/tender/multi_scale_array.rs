//! A tile on an array of small multipliers: each sum, and whether it is exact.

use super::accumulator::{Accumulator, Overflow};

/// One step of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beat {
    /// Operands for all rows and columns, as numbers.
    Multiply {
        /// Activations by row.
        act: Vec<i64>,
        /// Weights by column.
        weight: Vec<i64>,
    },
    /// All sums times 2^n.
    Rescale(u32),
}

/// The accumulators of the array.
#[derive(Clone, Copy, Debug)]
pub struct Accumulators {
    /// Width in bits.
    pub width: u32,
    /// How a sum is handled that does not fit.
    pub policy: Overflow,
}

/// Sum (r, c) of a tile whose operands fit one PE.
///
/// # Errors
/// [`Accumulator::new`] refuses the width.
pub fn narrow(beats: &[Beat], r: usize, c: usize, accumulators: Accumulators) -> Result<(i128, bool), String> {
    run(beats, accumulators, |act, weight| i128::from(act[r]) * i128::from(weight[c]))
}

/// Sum (r, c) of a tile whose operands have twice the width of a PE's operands. An operand has a signed high half and
/// an unsigned low half, of `half` bits each. Four accumulators hold the sums of the four kinds of product.
///
/// The sum is exact when all four accumulators are.
///
/// # Errors
/// [`Accumulator::new`] refuses the width.
pub fn wide(beats: &[Beat], r: usize, c: usize, half: u32, accumulators: Accumulators) -> Result<(i128, bool), String> {
    let low = |x: i64| i128::from(x.rem_euclid(1 << half));
    let high = |x: i64| i128::from(x.div_euclid(1 << half));
    let hh = run(beats, accumulators, |act, weight| high(act[r]) * high(weight[c]))?;
    let hl = run(beats, accumulators, |act, weight| high(act[r]) * low(weight[c]))?;
    let lh = run(beats, accumulators, |act, weight| low(act[r]) * high(weight[c]))?;
    let ll = run(beats, accumulators, |act, weight| low(act[r]) * low(weight[c]))?;
    let sum = (hh.0 << (2 * half)) + ((hl.0 + lh.0) << half) + ll.0;
    Ok((sum, hh.1 | hl.1 | lh.1 | ll.1))
}

fn run(
    beats: &[Beat],
    accumulators: Accumulators,
    product: impl Fn(&[i64], &[i64]) -> i128,
) -> Result<(i128, bool), String> {
    let mut sum = Accumulator::new(accumulators.width, accumulators.policy)?;
    for beat in beats {
        match beat {
            Beat::Multiply { act, weight } => sum.add(product(act, weight)),
            Beat::Rescale(places) => sum.shift(*places),
        }
    }
    Ok(sum.get())
}
