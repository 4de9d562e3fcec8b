//! A tile on an array of small multipliers: each sum, and whether it is exact.

use super::mesh_pe::{Operand, PeSum};

/// One step of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beat<O = i64> {
    /// Operands for all rows and columns, as numbers.
    Multiply {
        /// Activations by row.
        act: Vec<O>,
        /// Weights by column.
        weight: Vec<O>,
    },
    /// All sums are rescaled, in Tender's PE by 2^n.
    Rescale(u32),
}

/// Sum (r, c) of a tile whose operands fit one PE. `fresh` is a sum that is 0.
#[must_use]
pub fn narrow<S: PeSum>(beats: &[Beat<S::Operand>], r: usize, c: usize, fresh: &S) -> (i128, bool) {
    let mut sum = fresh.clone();
    for beat in beats {
        match beat {
            Beat::Multiply { act, weight } => sum.multiply(act[r], weight[c]),
            Beat::Rescale(amount) => sum.rescale(*amount),
        }
    }
    sum.get()
}

/// Sum (r, c) of a tile whose operands have twice the width of a PE's operands. An operand has a signed high half and
/// an unsigned low half, of `half` bits each. Four PEs hold the sums of the four kinds of product.
///
/// The sum is exact when all four of them are.
///
/// # Errors
/// Operands of this kind have no halves.
pub fn wide<S: PeSum>(
    beats: &[Beat<S::Operand>],
    r: usize,
    c: usize,
    half: u32,
    fresh: &S,
) -> Result<(i128, bool), String> {
    // By part of the activation, then by part of the weight: the high ones first.
    let mut sums = [[fresh.clone(), fresh.clone()], [fresh.clone(), fresh.clone()]];
    for beat in beats {
        let parts = match beat {
            Beat::Multiply { act, weight } => {
                let halves = |operand: S::Operand| {
                    operand.halves(half).ok_or_else(|| format!("{operand:?} has no halves for four PEs"))
                };
                Ok((halves(act[r])?, halves(weight[c])?))
            }
            Beat::Rescale(amount) => Err(*amount),
        };
        for (i, row) in sums.iter_mut().enumerate() {
            for (j, sum) in row.iter_mut().enumerate() {
                match &parts {
                    Ok((act, weight)) => sum.multiply(act[i], weight[j]),
                    Err(amount) => sum.rescale(*amount),
                }
            }
        }
    }
    let [[hh, hl], [lh, ll]] = sums.map(|row| row.map(|sum| sum.get()));
    let sum = (hh.0 << (2 * half)) + ((hl.0 + lh.0) << half) + ll.0;
    Ok((sum, hh.1 | hl.1 | lh.1 | ll.1))
}
