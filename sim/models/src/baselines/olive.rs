//! `OliVe` (Guo et al. 2023): an outlier takes the place of the value beside it, its victim.

use std::borrow::Cow;

use anyhow::Result;
use golden::baselines::olive_decoder::{IDENTIFIER, Normal, decode};

use super::ant::{samples, some_weights};
use super::options::activations_of_four;
use super::products::{Change, Exact, Form, Inputs, Outputs, Rounded};
use crate::decoder::Matrix;
use crate::schemes::{Bench, Choice, Part, Prepared, Scheme, Settings};

/// Ends of the normal values that are tried, as shares of three standard deviations.
const SHARES: [f64; 9] = [0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.7, 2.0];

/// A number and its code.
type Coded = (f64, u8);

/// The type of a tensor: numbers of normal values and of outliers, the smallest first.
#[derive(Clone, Debug)]
pub struct Pairs {
    normal: Normal,
    normals: Vec<Coded>,
    outliers: Vec<Coded>,
}

fn nearest(all: &[Coded], x: f64) -> Coded {
    let above = all.partition_point(|known| known.0 < x);
    match (above.checked_sub(1).map(|at| all[at]), all.get(above)) {
        (Some(below), Some(&above)) => {
            if x - below.0 <= above.0 - x {
                below
            } else {
                above
            }
        }
        (Some(below), None) => below,
        (None, Some(&above)) => above,
        (None, None) => (0.0, 0),
    }
}

impl Pairs {
    /// Numbers of the golden model's codes.
    #[must_use]
    pub fn new(normal: Normal) -> Self {
        let table = |number: &dyn Fn(u8) -> Option<i64>| {
            let coded = |code: u8| number(code).map(|x| (x as f64, code));
            let mut all: Vec<Coded> = (0..16).filter(|&code| code != IDENTIFIER).filter_map(coded).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all
        };
        let normals = table(&|code| decode(normal, [code, 0]).map(|pair| pair[0]));
        let outliers = table(&|code| decode(normal, [code, IDENTIFIER]).map(|pair| pair[0]).filter(|&x| x != 0));
        Self { normal, normals, outliers }
    }

    /// The largest normal value.
    fn last(&self) -> f64 {
        self.normals.last().map_or(1.0, |last| last.0)
    }

    /// The codes of two neighbours in units of a scale. A number that is nearer to an outlier's than to a normal one is
    /// an outlier. Of two outliers the larger one stays (section 3.2).
    #[must_use]
    pub fn encode(&self, pair: [f64; 2]) -> [u8; 2] {
        let (normals, outliers) = (pair.map(|x| nearest(&self.normals, x)), pair.map(|x| nearest(&self.outliers, x)));
        let is_outlier = |at: usize| (outliers[at].0 - pair[at]).abs() < (normals[at].0 - pair[at]).abs();
        match [is_outlier(0), is_outlier(1)] {
            [false, false] => normals.map(|normal| normal.1),
            [true, second] if !second || pair[0].abs() >= pair[1].abs() => [outliers[0].1, IDENTIFIER],
            _ => [IDENTIFIER, outliers[1].1],
        }
    }

    /// A row after coding with a scale. The last value of an odd row has a neighbour of 0.
    fn round(&self, row: &[f64], scale: f64) -> Vec<f64> {
        let mut result = Vec::with_capacity(row.len() + 1);
        for pair in row.chunks(2) {
            let pair = [pair[0] / scale, pair.get(1).map_or(0.0, |x| x / scale)];
            // No encoder makes two victims.
            let decoded = decode(self.normal, self.encode(pair)).unwrap_or_default();
            result.extend(decoded.map(|x| x as f64 * scale));
        }
        result.truncate(row.len());
        result
    }

    /// The scale with the least squared error, and this error.
    fn fit(&self, values: &[f64]) -> (f64, f64) {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        let most = mean.abs() + 3.0 * deviation;
        let mut best = (1.0, f64::INFINITY);
        for scale in SHARES.iter().map(|share| share * most / self.last()).filter(|&scale| scale > 0.0) {
            let error = self.round(values, scale).iter().zip(values).map(|(a, b)| (a - b).powi(2)).sum();
            if error < best.1 {
                best = (scale, error);
            }
        }
        best
    }
}

/// The type with the least squared error of some rows.
fn choose<'a>(rows: impl Iterator<Item = &'a [f64]> + Clone) -> Pairs {
    let [int, flint] = [Normal::Int4, Normal::Flint4].map(Pairs::new);
    let error = |pairs: &Pairs| rows.clone().map(|row| pairs.fit(row).1).sum::<f64>();
    if error(&flint) < error(&int) { flint } else { int }
}

/// Activations with one scale, or weights with a scale an output.
struct Typed {
    pairs: Pairs,
    scale: f64,
}

impl Inputs for Typed {
    fn round(&self, x: &Matrix) -> Matrix {
        let values = x.iter().flat_map(|row| self.pairs.round(row, self.scale)).collect();
        Matrix { columns: x.columns, values }
    }
}

impl Outputs for Typed {
    fn round(&self, weights: &Matrix) -> Matrix {
        let row = |row: &[f64]| self.pairs.round(row, self.pairs.fit(row).0);
        Matrix { columns: weights.columns, values: weights.iter().flat_map(row).collect() }
    }
}

fn inputs_of(values: &[f64]) -> Typed {
    let pairs = choose([values].into_iter());
    let scale = pairs.fit(values).0;
    Typed { pairs, scale }
}

fn outputs_of(weights: &Matrix) -> Typed {
    let rows: Vec<&[f64]> = weights.iter().collect();
    Typed { pairs: choose(rows.iter().copied()), scale: 1.0 }
}

/// How inputs and weights like these are rounded.
#[cfg(test)]
pub(super) fn fitted(inputs: &Matrix, weights: &Matrix) -> [impl Inputs + Outputs + use<>; 2] {
    [inputs_of(&inputs.values), outputs_of(weights)]
}

/// Outlier-victim pairs of 4 bits.
#[derive(Clone, Copy, Debug)]
pub struct Olive;

impl Scheme for Olive {
    fn name(&self) -> &'static str {
        "olive"
    }

    fn about(&self) -> &'static str {
        "int4 or flint4, whichever fits a tensor best, with outliers that take their neighbours' places (OliVe)"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        vec![activations_of_four()]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let is_exact = settings.word("activations")? == "exact";
        let (model, learnt) = (bench.model, bench.calibration(0)?);
        let rounded = Rounded::new(model, None, |layer, input| {
            let inputs: Box<dyn Inputs> =
                if is_exact { Box::new(Exact) } else { Box::new(inputs_of(&samples(&learnt, layer, input)?)) };
            let outputs = Box::new(outputs_of(&some_weights(model, layer, input)?));
            Ok(Form { change: Change::None, inputs, outputs })
        })?;
        Ok(rounded.prepared(Cow::Borrowed(model)))
    }

    fn learns(&self, _: &Settings) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With int4 normal values go to 7 and outliers from 12 on: 9.4 is normal and saturates, 9.6 is an outlier.
    #[test]
    fn pairs_by_hand() {
        let int = Pairs::new(Normal::Int4);
        let of = |pair: [f64; 2]| decode(Normal::Int4, int.encode(pair)).unwrap();
        assert_eq!(of([3.4, -2.6]), [3, -3]);
        assert_eq!(of([9.4, -9.4]), [7, -7]);
        assert_eq!(of([9.6, 3.0]), [12, 0]);
        assert_eq!(of([-5.0, -70.0]), [0, -64]);
        // Of two outliers the larger one stays, of equal ones the first.
        assert_eq!((of([20.0, 90.0]), of([90.0, 20.0]), of([24.0, -24.0])), ([0, 96], [96, 0], [24, 0]));
        assert_eq!(of([500.0, 0.0]), [96, 0]);
        let flint = Pairs::new(Normal::Flint4);
        assert_eq!(decode(Normal::Flint4, flint.encode([15.0, 5.5])), Some([16, 6]));
        assert_eq!(decode(Normal::Flint4, flint.encode([21.0, 5.5])), Some([24, 0]));
    }

    #[test]
    fn rows_and_scales() {
        let int = Pairs::new(Normal::Int4);
        assert_eq!(int.round(&[1.0, 3.5, 24.0, 1.0, 0.5], 0.5), [1.0, 3.5, 24.0, 0.0, 0.5]);
        // Every code's number is coded by itself, in both places.
        for normal in [Normal::Int4, Normal::Flint4] {
            let pairs = Pairs::new(normal);
            for a in 0..16_u8 {
                for b in 0..16_u8 {
                    let Some(numbers) = decode(normal, [a, b]) else { continue };
                    let found = pairs.round(&numbers.map(|x| x as f64), 1.0);
                    assert_eq!(found, numbers.map(|x| x as f64), "{normal:?} {a} {b}");
                }
            }
        }
        let steps: Vec<f64> = (-70..=70).map(|i| f64::from(i) / 10.0).collect();
        assert_eq!(choose([&steps[..]].into_iter()).normal, Normal::Int4);
    }
}
