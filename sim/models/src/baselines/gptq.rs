//! GPTQ (Frantar et al. 2023): weights are rounded one after the other, and the ones that are not rounded yet make up for
//! the error.

use std::borrow::Cow;
use std::ops::Range;

use anyhow::Result;
use golden::common::parallel::shares;

use super::factor::Moments;
use super::integers::{Columns, Integers, Scale};
use super::options::{activations, damping, group, inputs, order, solver, weights};
use super::products::{Change, Form, Rounded, Solver};
use crate::decoder::Matrix;
use crate::schemes::{Bench, Choice, Part, Prepared, Scheme, Settings};

/// Outputs whose rows are worked on together: each is independent of the others, and they share a row of the factor.
const TOGETHER: usize = 32;

impl Solver<'_> {
    /// Rounds weights so that their products with inputs of these second moments change little (Algorithm 1). A group's
    /// scale is found when its first channel is due.
    ///
    /// # Errors
    /// The second moments have no factor.
    pub(super) fn round(&self, weights: &Matrix, moments: &Moments, columns: &Columns) -> Result<Matrix> {
        let mut order = columns.order.clone();
        if self.by_square {
            let squares = moments.squares();
            // Channels stay in their groups' bits: each group is sorted on its own if there are several kinds of bits.
            let same = columns.groups.iter().all(|(_, integers)| *integers == columns.groups[0].1);
            let mut sort = |part: Range<usize>| {
                order[part].sort_by(|&a, &b| squares[b].total_cmp(&squares[a]).then(a.cmp(&b)));
            };
            if same {
                sort(0..weights.columns);
            } else {
                columns.groups.iter().for_each(|(range, _)| sort(range.clone()));
            }
        }
        let factor = moments.factor(&order, self.damping)?;
        let steps = weights.rows() * factor.values.len();
        let parts = shares(weights.rows(), steps, |rows| {
            let mut rounded = Vec::with_capacity(rows.len() * weights.columns);
            for from in rows.clone().step_by(TOGETHER) {
                let some = weights.some_rows(from..(from + TOGETHER).min(rows.end));
                rounded.extend(some_rows(some, (&order, &columns.groups), &factor).values);
            }
            rounded
        });
        Ok(Matrix { columns: weights.columns, values: parts.concat() })
    }
}

/// Rounds some rows.
fn some_rows(weights: Matrix, (order, groups): (&[usize], &[(Range<usize>, Integers)]), factor: &Matrix) -> Matrix {
    let mut rest = Matrix::zeros(0, weights.columns);
    weights.iter().for_each(|row| rest.values.extend(order.iter().map(|&channel| row[channel])));
    let mut rounded = weights;
    for (range, integers) in groups {
        let scale = |row: &[f64]| integers.scale(row[range.clone()].iter().copied());
        let scales: Vec<Scale> = rest.iter().map(scale).collect();
        for at in range.clone() {
            let pivot = factor.row(at)[at];
            let later = &factor.row(at)[at + 1..];
            for ((rest, rounded), scale) in rest.iter_mut().zip(rounded.iter_mut()).zip(&scales) {
                let nearest = scale.nearest(rest[at]);
                rounded[order[at]] = nearest;
                let error = (rest[at] - nearest) / pivot;
                if error != 0.0 {
                    rest[at + 1..].iter_mut().zip(later).for_each(|(w, u)| *w -= error * u);
                }
            }
        }
    }
    rounded
}

/// Weights by GPTQ; activations as they are, or to the nearest.
#[derive(Clone, Copy, Debug)]
pub struct Gptq;

impl Scheme for Gptq {
    fn name(&self) -> &'static str {
        "gptq"
    }

    fn about(&self) -> &'static str {
        "weights rounded one after the other, so that later ones make up for the error (GPTQ)"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        vec![weights("4"), activations("exact"), group(), damping(), order()]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (bits, group) = (settings.count("weights")?, settings.count("group")?);
        let config = *bench.model.config();
        let solver = solver(settings, bench.learning()?)?;
        let rounded = Rounded::new(bench.model, Some(solver), |_, input| {
            let width = input.channels(&config);
            let outputs = Box::new(Columns::new(width, group, Integers::symmetric(bits)));
            Ok(Form { change: Change::None, inputs: inputs(settings, width, 0, 1.0)?, outputs })
        })?;
        Ok(rounded.prepared(Cow::Borrowed(bench.model)))
    }

    fn learns(&self, _: &Settings) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solver() -> Solver<'static> {
        Solver { windows: &[], damping: 0.0, by_square: false }
    }

    fn moments(rows: &[Vec<f64>]) -> Moments {
        let mut moments = Moments::new(rows[0].len());
        moments.add(&Matrix::from_rows(rows).unwrap());
        moments
    }

    /// Of the first two channels H = [[5, 2], [2, 1]], so U = [[1, -2], [0, 1]]; the third depends on none. In steps of 1
    /// a weight of 0.4 becomes 0, and its error adds 2 x 0.4 to the second.
    #[test]
    fn a_row_by_hand() {
        let moments = moments(&[vec![2.0, 1.0, 0.0], vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0]]);
        let of = |weights: [f64; 3], group: usize| {
            let columns = Columns::new(3, group, Integers::symmetric(3));
            let weights = Matrix { columns: 3, values: weights.to_vec() };
            solver().round(&weights, &moments, &columns).unwrap().values
        };
        assert_eq!(of([0.4, 1.2, 3.0], 0), [0.0, 2.0, 3.0]);
        assert_eq!(of([-0.4, 1.2, 3.0], 0), [0.0, 0.0, 3.0]);
        // Beyond the range it saturates, and exact weights leave the others alone.
        assert_eq!(of([0.4, 2.9, 3.0], 0), [0.0, 3.0, 3.0]);
        assert_eq!(of([-2.0, 1.2, 3.0], 0), [-2.0, 1.0, 3.0]);
        // Groups have scales of their own, found when they are due.
        let apart = of([0.4, 1.2, 3.0], 1);
        assert!(apart.iter().zip([0.4, 1.2, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{apart:?}");
    }

    /// The products with the inputs change less than by rounding to nearest, in both orders; with inputs that do not
    /// depend on each other nothing changes.
    #[test]
    fn products_change_less() {
        let row = |r: usize| -> Vec<f64> {
            let common = ((r * 29) % 17) as f64 - 8.0;
            (0..24).map(|c| common * (1.0 + c as f64 / 8.0) + ((r * 13 + c * 7) % 5) as f64).collect()
        };
        let x = Matrix::from_rows(&(0..64).map(row).collect::<Vec<_>>()).unwrap();
        let mut learnt = Moments::new(24);
        learnt.add(&x);
        let value = |i: usize| ((i * 37) % 101) as f64 / 50.0 - 1.0;
        let weights = Matrix { columns: 24, values: (0..24 * 40).map(value).collect() };
        let columns = Columns::new(24, 0, Integers::symmetric(3));
        let exact = x.times_transposed(&weights);
        let error = |rounded: &Matrix| {
            let found = x.times_transposed(rounded);
            found.values.iter().zip(&exact.values).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let nearest = super::super::products::Outputs::round(&columns, &weights);
        for by_square in [false, true] {
            let solver = Solver { damping: 0.01, by_square, ..solver() };
            let found = solver.round(&weights, &learnt, &columns).unwrap();
            assert!(error(&found) < 0.5 * error(&nearest), "{} {}", error(&found), error(&nearest));
        }
        let mut apart = Moments::new(24);
        let one = |r: usize| (0..24).map(|c| f64::from(u8::from(c == r))).collect::<Vec<_>>();
        apart.add(&Matrix::from_rows(&(0..24).map(one).collect::<Vec<_>>()).unwrap());
        assert_eq!(solver().round(&weights, &apart, &columns).unwrap(), nearest);
    }
}
