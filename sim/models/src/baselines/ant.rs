//! ANT (Guo et al. 2022): each tensor has the type that fits it best, integers, powers of two or flint.

use std::borrow::Cow;

use anyhow::{Context, Result};
use golden::kllm::fp16;

use super::grid::Grid;
use super::options::{activations, bits, weights};
use super::products::{Change, Exact, Form, Inputs, Outputs, Rounded, projections, rows_of};
use crate::decoder::calibration::{Calibration, Input};
use crate::decoder::{Matrix, Model};
use crate::schemes::{Bench, Choice, Part, Prepared, Scheme, Settings};

/// Largest magnitudes that are tried for a scale, as shares of the largest value.
const SHARES: [f64; 9] = [1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5];
/// Outputs whose weights choose a type.
const OUTPUTS: usize = 64;

/// Magnitudes of flint with so many bits besides the sign (section 4.1): small numbers have a fraction, large ones an
/// exponent, in units of the smallest number.
fn flint(bits: u32) -> Grid {
    let mut all = Vec::new();
    for exponent in 0..2 * bits - 1 {
        // In the middle of the range a number has the longest fraction, at its ends none.
        let fraction = if exponent + 1 < bits { exponent } else { (2 * bits).saturating_sub(exponent + 3) };
        let base = 2f64.powi(exponent as i32);
        all.extend((0..1u32 << fraction).map(|j| base * (1.0 + f64::from(j) / f64::from(1u32 << fraction))));
    }
    Grid::new(all)
}

/// The types that a tensor of so many bits may have, each with its name.
fn types(bits: u32) -> [(&'static str, Grid); 3] {
    let magnitude = bits - 1;
    let integers = Grid::new((1..1u32 << magnitude).map(f64::from));
    let powers = Grid::new((0..(1i32 << magnitude) - 1).map(|e| 2f64.powi(e)));
    [("int", integers), ("pot", powers), ("flint", flint(magnitude))]
}

fn most(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// A type, and the scale of a tensor; weights have a scale an output.
struct Typed {
    grid: Grid,
    scale: f64,
}

impl Inputs for Typed {
    fn round(&self, x: &Matrix) -> Matrix {
        let values = x.values.iter().map(|x| self.grid.nearest(x / self.scale) * self.scale).collect();
        Matrix { columns: x.columns, values }
    }
}

impl Outputs for Typed {
    fn round(&self, weights: &Matrix) -> Matrix {
        let row = |row: &[f64]| -> Vec<f64> {
            let (scale, _) = self.grid.fit(row, most(row), &SHARES);
            row.iter().map(|w| self.grid.nearest(w / scale) * scale).collect()
        };
        Matrix { columns: weights.columns, values: weights.iter().flat_map(row).collect() }
    }
}

/// The type with the least squared error of all of some parts of a tensor that have a scale each.
fn choose(bits: u32, parts: &[&[f64]]) -> (&'static str, Grid) {
    let error = |grid: &Grid| parts.iter().map(|part| grid.fit(part, most(part), &SHARES).1).sum::<f64>();
    let mut all = types(bits).map(|(name, grid)| (error(&grid), name, grid)).into_iter();
    let first = all.next().unwrap_or_else(|| (0.0, "int", Grid::new([1.0])));
    let (_, name, grid) = all.fold(first, |best, new| if new.0 < best.0 { new } else { best });
    (name, grid)
}

/// Types and scales of some inputs, and the type of weights.
fn inputs_of(bits: u32, values: &[f64]) -> Typed {
    let (_, grid) = choose(bits, &[values]);
    let (scale, _) = grid.fit(values, most(values), &SHARES);
    Typed { grid, scale }
}

fn outputs_of(bits: u32, weights: &Matrix) -> Typed {
    let (_, grid) = choose(bits, &weights.iter().collect::<Vec<_>>());
    Typed { grid, scale: 1.0 }
}

/// How inputs and weights like these are rounded.
#[cfg(test)]
pub(super) fn fitted(bits: u32, inputs: &Matrix, weights: &Matrix) -> [impl Inputs + Outputs + use<>; 2] {
    [inputs_of(bits, &inputs.values), outputs_of(bits, weights)]
}

/// The values of an input on the text to learn from.
pub(super) fn samples(learnt: &Calibration, layer: usize, input: Input) -> Result<Vec<f64>> {
    let rows = learnt.samples(layer, input).with_context(|| format!("{input:?} of layer {layer} is not calibrated"))?;
    Ok(rows.iter().flatten().map(|&x| fp16::value(x)).collect())
}

/// Some weights of the first projection of an input, which choose its type for all that share the input.
pub(super) fn some_weights(model: &Model, layer: usize, input: Input) -> Result<Matrix> {
    let mut some = Matrix::zeros(0, input.channels(model.config()));
    for projection in projections(model, input) {
        let rows = rows_of(model.weight(layer, projection)?);
        let step = rows.rows().div_ceil(OUTPUTS).max(1);
        rows.iter().step_by(step).for_each(|row| some.values.extend(row));
    }
    Ok(some)
}

/// Types by tensor.
#[derive(Clone, Copy, Debug)]
pub struct Ant;

impl Scheme for Ant {
    fn name(&self) -> &'static str {
        "ant"
    }

    fn about(&self) -> &'static str {
        "integers, powers of two or flint, whichever fits a tensor best, with a scale a tensor of activations (ANT)"
    }

    fn part(&self) -> Part {
        Part::Products
    }

    fn choices(&self) -> Vec<Choice> {
        vec![weights("4"), activations("4")]
    }

    fn prepare<'a>(&self, settings: &Settings, bench: &'a Bench<'_>) -> Result<Prepared<'a>> {
        let (of_weights, of_inputs) = (settings.count("weights")?, bits(settings)?);
        let (model, learnt) = (bench.model, bench.calibration(0)?);
        let rounded = Rounded::new(model, None, |layer, input| {
            let inputs: Box<dyn Inputs> = match of_inputs {
                None => Box::new(Exact),
                Some(bits) => Box::new(inputs_of(bits, &samples(&learnt, layer, input)?)),
            };
            let outputs = Box::new(outputs_of(of_weights, &some_weights(model, layer, input)?));
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

    /// Four bits: the paper's values. flint4 is also what OliVe's decoder has.
    #[test]
    fn values_of_types() {
        let of = |name: &str| types(4).into_iter().find(|(known, _)| *known == name).unwrap().1.magnitudes().to_vec();
        assert_eq!(of("int"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(of("pot"), [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(of("flint"), [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0]);
        // As many values as codes, for all widths; the largest is 2^(2 (bits - 1)) times the smallest.
        for bits in 2..=8 {
            for (name, grid) in types(bits) {
                assert_eq!(grid.magnitudes().len(), 1 << (bits - 1), "{name} {bits}");
            }
            assert_eq!(flint(bits - 1).last(), 2f64.powi(2 * (bits as i32 - 1) - 2));
        }
    }

    /// Equal distances choose integers, a long tail chooses powers of two, and what is between them flint.
    #[test]
    fn the_type_that_fits() {
        let name = |values: &[f64]| choose(4, &[values]).0;
        assert_eq!(name(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0]), "int");
        assert_eq!(name(&[1.0, -2.0, 4.0, 8.0, 16.0, 32.0, 64.0]), "pot");
        assert_eq!(name(&[1.0, 2.0, -3.0, 4.0, 6.0, 8.0, 16.0]), "flint");
    }
}
