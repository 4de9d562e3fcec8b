//! Products with rounded inputs and rounded weights, for whole models.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result};
use golden::common::parallel::shares;

use super::factor::Moments;
use super::hadamard::Rotation;
use super::integers::{Columns, Integers};
use crate::decoder::arithmetic::Projection;
use crate::decoder::calibration::Input;
use crate::decoder::{Arithmetic, Matrix, Model, Weight};
use crate::schemes::Prepared;

/// A change of both factors that keeps their product.
#[derive(Clone, Debug)]
pub enum Change {
    /// None.
    None,
    /// Channels of inputs are divided by these factors, and channels of weights multiplied.
    Divide(Vec<f64>),
    /// Inputs and weights are rotated.
    Rotate(Arc<Rotation>),
}

impl Change {
    fn inputs(&self, x: &Matrix) -> Matrix {
        let mut x = x.clone();
        match self {
            Self::None => (),
            Self::Divide(by) => x.iter_mut().for_each(|row| row.iter_mut().zip(by).for_each(|(x, by)| *x /= by)),
            Self::Rotate(rotation) => x.iter_mut().for_each(|row| rotation.turn(row)),
        }
        x
    }

    fn weights(&self, weights: &mut Matrix) {
        match self {
            Self::None => (),
            Self::Divide(by) => weights.iter_mut().for_each(|row| row.iter_mut().zip(by).for_each(|(w, by)| *w *= by)),
            Self::Rotate(rotation) => weights.iter_mut().for_each(|row| rotation.turn(row)),
        }
    }
}

/// Rounds rows of inputs.
pub trait Inputs: Send + Sync {
    /// The numbers that codes of the rows stand for.
    fn round(&self, x: &Matrix) -> Matrix;
}

/// Rounds weights, a row for each output.
pub trait Outputs: Send + Sync {
    /// The numbers that codes of the weights stand for.
    fn round(&self, weights: &Matrix) -> Matrix;

    /// The channels that share scales, where the error of one may be made up for by others (GPTQ).
    fn columns(&self) -> Option<&Columns> {
        None
    }
}

/// Inputs as they are.
pub struct Exact;

impl Inputs for Exact {
    fn round(&self, x: &Matrix) -> Matrix {
        x.clone()
    }
}

impl Outputs for Exact {
    fn round(&self, weights: &Matrix) -> Matrix {
        weights.clone()
    }
}

impl Inputs for Columns {
    fn round(&self, x: &Matrix) -> Matrix {
        Matrix { columns: x.columns, values: x.iter().flat_map(|row| self.round(row)).collect() }
    }
}

impl Outputs for Columns {
    fn round(&self, weights: &Matrix) -> Matrix {
        Inputs::round(self, weights)
    }

    fn columns(&self) -> Option<&Columns> {
        Some(self)
    }
}

/// Integers with one scale for all rows that come together.
impl Inputs for Integers {
    fn round(&self, x: &Matrix) -> Matrix {
        Matrix { columns: x.columns, values: self.round(&x.values) }
    }
}

/// How the products of an input are computed.
pub struct Form {
    /// What happens ahead of rounding.
    pub change: Change,
    /// How inputs are rounded.
    pub inputs: Box<dyn Inputs>,
    /// How weights are rounded.
    pub outputs: Box<dyn Outputs>,
}

/// What GPTQ learns from, and with.
#[derive(Clone, Copy, Debug)]
pub struct Solver<'a> {
    /// Texts.
    pub windows: &'a [Vec<u32>],
    /// Share of the mean square that is added to each square.
    pub damping: f64,
    /// Whether channels come in the order of their squares, the largest first.
    pub by_square: bool,
}

/// A model's rounded weights, and how inputs are rounded.
pub struct Rounded {
    forms: BTreeMap<(usize, Input), Form>,
    weights: BTreeMap<(usize, Projection), Weight>,
}

impl fmt::Debug for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rounded weights", self.weights.len())
    }
}

/// The projections of an input.
pub(super) fn projections(model: &Model, input: Input) -> impl Iterator<Item = Projection> {
    model.config().projections().iter().copied().filter(move |&projection| Input::of(projection) == Some(input))
}

/// Weights in f64, a row for each output.
pub(super) fn rows_of(weight: &Weight) -> Matrix {
    Matrix { columns: weight.inputs, values: weight.values().into_iter().map(f64::from).collect() }
}

impl Rounded {
    /// Rounds all weights of a model. `form` says how, for a layer's input. With a solver weights make up for each
    /// other's errors, layer by layer: inputs are then the results of rounded layers (GPTQ, section 3.3 and 4).
    ///
    /// # Errors
    /// `form` fails, or the model or the solver does.
    pub fn new(model: &Model, solver: Option<Solver<'_>>, form: impl Fn(usize, Input) -> Result<Form>) -> Result<Self> {
        let mut rounded = Self { forms: BTreeMap::new(), weights: BTreeMap::new() };
        let mut texts = match solver {
            Some(solver) => solver.windows.iter().map(|window| model.embed(window, 0)).collect::<Result<_>>()?,
            None => Vec::new(),
        };
        for layer in 0..model.config().layers {
            for input in Input::ALL {
                rounded.forms.insert((layer, input), form(layer, input)?);
            }
            let mut seen = Seen { rounded: &rounded, moments: BTreeMap::new() };
            for x in &texts {
                model.through_layer(layer, &mut x.clone(), &mut seen)?;
            }
            let moments = seen.moments;
            for &projection in model.config().projections() {
                let input = Input::of(projection).context("a projection that is not quantized")?;
                let form = &rounded.forms[&(layer, input)];
                let mut weights = rows_of(model.weight(layer, projection)?);
                form.change.weights(&mut weights);
                let weights = match (solver, moments.get(&input), form.outputs.columns()) {
                    (Some(solver), Some(moments), Some(columns)) => solver.round(&weights, moments, columns)?,
                    _ => by_shares(&weights, |part| form.outputs.round(part)),
                };
                let values: Vec<f32> = weights.values.iter().map(|&w| w as f32).collect();
                let shape = [weights.rows(), weights.columns];
                rounded.weights.insert((layer, projection), Weight::new(shape, &values));
            }
            for x in &mut texts {
                model.through_layer(layer, x, &mut Products { rounded: &rounded, exact: true, last: None })?;
            }
        }
        Ok(rounded)
    }

    /// The arithmetic for a passage.
    #[must_use]
    pub fn products(&self) -> Products<'_> {
        Products { rounded: self, exact: false, last: None }
    }

    /// The scheme with these products of `model`, which has no figures of its own.
    #[must_use]
    pub fn prepared(self, model: Cow<'_, Model>) -> Prepared<'_> {
        Prepared::products(model, move |_, read| {
            read(&mut self.products())?;
            Ok(Vec::new())
        })
    }

    fn form(&self, layer: usize, input: Input) -> Result<&Form> {
        self.forms.get(&(layer, input)).with_context(|| format!("{input:?} of layer {layer} is not rounded"))
    }
}

/// A matrix from the results of parts of its rows.
fn by_shares(weights: &Matrix, round: impl Fn(&Matrix) -> Matrix + Sync) -> Matrix {
    let parts = shares(weights.rows(), weights.values.len(), |rows| round(&weights.some_rows(rows)).values);
    Matrix { columns: weights.columns, values: parts.concat() }
}

/// Learns the second moments of changed inputs of a layer.
struct Seen<'a> {
    rounded: &'a Rounded,
    moments: BTreeMap<Input, Moments>,
}

impl Arithmetic for Seen<'_> {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        // One projection of each input counts.
        if let Some(input) = Input::of(projection)
            && matches!(projection, Projection::Q | Projection::O | Projection::Up | Projection::Down)
        {
            let changed = self.rounded.form(layer, input)?.change.inputs(x);
            self.moments.entry(input).or_insert_with(|| Moments::new(x.columns)).add(&changed);
        }
        Ok(x.through(weight))
    }
}

/// A model whose layers multiply rounded numbers.
#[derive(Clone, Debug)]
pub struct Products<'a> {
    rounded: &'a Rounded,
    /// Whether inputs are changed, but not rounded.
    exact: bool,
    /// The input that was rounded last, and its result. Projections share it.
    last: Option<((usize, Input), Matrix, Matrix)>,
}

impl Products<'_> {
    fn round(&mut self, layer: usize, input: Input, x: &Matrix) -> Result<Matrix> {
        if let Some((key, of, result)) = &self.last
            && *key == (layer, input)
            && of == x
        {
            return Ok(result.clone());
        }
        let form = self.rounded.form(layer, input)?;
        let changed = form.change.inputs(x);
        let result = if self.exact { changed } else { form.inputs.round(&changed) };
        self.last = Some(((layer, input), x.clone(), result.clone()));
        Ok(result)
    }
}

impl Arithmetic for Products<'_> {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        let Some(input) = Input::of(projection) else { return Ok(x.through(weight)) };
        let rounded = self.rounded;
        let weight = rounded.weights.get(&(layer, projection));
        let weight = weight.with_context(|| format!("no weights of {projection:?} in layer {layer}"))?;
        Ok(self.round(layer, input, x)?.through(weight))
    }
}

#[cfg(test)]
mod tests;
