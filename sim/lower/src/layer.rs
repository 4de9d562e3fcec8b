//! A decoder layer as chains take it: weights in their rows, and heads as wide as the operands of an accelerator.

use std::borrow::Cow;

use anyhow::{Result, ensure};
use half::f16;
use models::decoder::arithmetic::{Norm as NormName, Projection as Name};
use models::decoder::{Activation as Function, Family, Model, Weight};

/// A projection.
#[derive(Clone, Debug)]
pub struct Linear {
    weights: Stored,
    /// Of each output; empty: none.
    pub biases: Vec<f64>,
}

#[derive(Clone, Debug)]
enum Stored {
    /// [in, out].
    Rows(Vec<Vec<f64>>),
    /// As a model has them: an eighth of the memory, or less.
    Elements(Weight),
}

impl Linear {
    /// A projection without biases; weights are [in, out].
    #[must_use]
    pub fn new(weights: Vec<Vec<f64>>) -> Self {
        Self::with_biases(weights, Vec::new())
    }

    /// A projection with a bias for each output.
    #[must_use]
    pub fn with_biases(weights: Vec<Vec<f64>>, biases: Vec<f64>) -> Self {
        Self { weights: Stored::Rows(weights), biases }
    }

    /// A projection of a model. Its weights stay in the elements of the model until someone asks for them.
    #[must_use]
    pub fn of(weight: Weight, biases: Vec<f64>) -> Self {
        Self { weights: Stored::Elements(weight), biases }
    }

    /// Weights, [in, out]. Those of a model are rounded to fp16, and made anew each time: keep them as briefly as you
    /// can.
    #[must_use]
    pub fn weights(&self) -> Cow<'_, [Vec<f64>]> {
        match &self.weights {
            Stored::Rows(rows) => Cow::Borrowed(rows),
            Stored::Elements(weight) => Cow::Owned(transposed(weight)),
        }
    }

    /// The weights of an output, with the same numbers as all [`weights`](Self::weights).
    ///
    /// # Panics
    /// There is no such output.
    #[must_use]
    pub fn column(&self, output: usize) -> Vec<f64> {
        match &self.weights {
            Stored::Rows(rows) => rows.iter().map(|row| row[output]).collect(),
            Stored::Elements(weight) => weight.output(output).into_iter().map(rounded).collect(),
        }
    }

    /// The weights of each output.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Vec<f64>> {
        (0..self.outputs()).map(|output| self.column(output))
    }

    /// Number of outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match &self.weights {
            Stored::Rows(rows) => rows.first().map_or(0, Vec::len),
            Stored::Elements(weight) => weight.outputs,
        }
    }

    /// Number of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match &self.weights {
            Stored::Rows(rows) => rows.len(),
            Stored::Elements(weight) => weight.inputs,
        }
    }
}

/// Outputs that are decoded together: so many neighbours of a row are written at once.
const TOGETHER: usize = 16;

fn rounded(x: f32) -> f64 {
    f16::from_f32(x).to_f64()
}

/// Weights [in, out] from a row for each output, rounded to fp16.
fn transposed(weight: &Weight) -> Vec<Vec<f64>> {
    let mut rows: Vec<_> = (0..weight.inputs).map(|_| Vec::with_capacity(weight.outputs)).collect();
    let mut values = Vec::new();
    for first in (0..weight.outputs).step_by(TOGETHER) {
        weight.read(first..weight.outputs.min(first + TOGETHER), &mut values);
        for (input, row) in rows.iter_mut().enumerate() {
            row.extend(values.iter().skip(input).step_by(weight.inputs).map(|&x| rounded(x)));
        }
    }
    rows
}

/// A norm of rows.
#[derive(Clone, Debug)]
pub struct Norm {
    /// Of each channel.
    pub gains: Vec<f64>,
    /// Of each channel. It is a layer norm where there are some, otherwise a norm by the root mean square.
    pub biases: Vec<f64>,
}

/// The function of the feed-forward network between its projections.
#[derive(Clone, Debug)]
pub enum Activation {
    /// `SiLU` of the gate, times the up projection.
    GatedSilu(Linear),
    /// Negative numbers become 0.
    Relu,
    /// GELU by the error function.
    Gelu,
    /// GELU by the hyperbolic tangent.
    GeluTanh,
}

/// Heads of a layer, side by side in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Query heads.
    pub queries: usize,
    /// Heads of keys and values, each for equally many query heads.
    pub keys: usize,
    /// Elements of a head in rows.
    pub width: usize,
    /// The first of these elements, which the model has. All others are 0.
    pub own: usize,
}

impl Heads {
    /// The factor of scores.
    #[must_use]
    pub fn scale(&self) -> f64 {
        1.0 / (self.own as f64).sqrt()
    }

    /// Query heads that share keys and values.
    #[must_use]
    pub fn shared(&self) -> usize {
        self.queries / self.keys
    }
}

/// The rotary embedding of a head.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// Radians that each pair of elements turns a token.
    pub frequencies: Vec<f64>,
    /// Factor of the turned elements.
    pub factor: f64,
}

impl Turns {
    /// Cosine and sine of each pair at a position, times the factor: the angles that the step rotate takes.
    #[must_use]
    pub fn angles(&self, position: usize) -> Vec<f64> {
        let pair = |frequency: &f64| {
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            [cos * self.factor, sin * self.factor]
        };
        self.frequencies.iter().flat_map(pair).collect()
    }
}

/// A decoder layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Before the attention and before the feed-forward network.
    pub norms: [Norm; 2],
    /// What a norm adds to the mean of the squares.
    pub epsilon: f64,
    /// Queries of all heads.
    pub q: Linear,
    /// Keys.
    pub k: Linear,
    /// Values.
    pub v: Linear,
    /// Output of the attention.
    pub o: Linear,
    /// Into the feed-forward network.
    pub up: Linear,
    /// Between its projections.
    pub activation: Activation,
    /// Back to the residual stream.
    pub down: Linear,
    /// Sizes of the heads.
    pub heads: Heads,
    /// How queries and keys turn with their positions, if they do.
    pub turns: Option<Turns>,
}

impl Layer {
    /// A layer of a model. Heads get elements that are 0 up to the next multiple of `unit`: they change no score and no
    /// result.
    ///
    /// # Errors
    /// The model has no such layer; a head of no elements.
    pub fn of_model(model: &Model, number: usize, unit: usize) -> Result<Self> {
        let c = model.config();
        ensure!(unit > 0 && unit.is_multiple_of(2), "heads in units of {unit}, wanted is an even number");
        let heads =
            Heads { queries: c.heads, keys: c.kv_heads, width: c.head_width.next_multiple_of(unit), own: c.head_width };
        let linear = |name: Name| -> Result<Linear> {
            let weight = padded(model.weight(number, name)?, name, heads);
            let biases = model.bias(number, name).map(|bias| padded_bias(bias, name, heads)).unwrap_or_default();
            Ok(Linear::of(weight.into_owned(), biases))
        };
        let norm = |name| -> Result<Norm> {
            let numbers = |row: &[f32]| row.iter().map(|&x| x.into()).collect();
            let biases = if c.family == Family::Gpt { numbers(model.shift(number, name)?) } else { Vec::new() };
            Ok(Norm { gains: numbers(model.gain(number, name)?), biases })
        };
        let activation = match c.activation {
            Function::Silu => Activation::GatedSilu(linear(Name::Gate)?),
            Function::Relu => Activation::Relu,
            Function::Gelu => Activation::Gelu,
            Function::GeluTanh => Activation::GeluTanh,
        };
        Ok(Self {
            norms: [norm(NormName::Attention)?, norm(NormName::FeedForward)?],
            epsilon: c.norm_eps,
            q: linear(Name::Q)?,
            k: linear(Name::K)?,
            v: linear(Name::V)?,
            o: linear(Name::O)?,
            up: linear(Name::Up)?,
            activation,
            down: linear(Name::Down)?,
            heads,
            turns: turns(model, heads.width),
        })
    }

    /// Elements of the residual stream.
    #[must_use]
    pub fn width(&self) -> usize {
        self.o.outputs()
    }
}

/// How the heads of a model turn, with elements up to `width` that do not turn.
#[must_use]
pub fn turns(model: &Model, width: usize) -> Option<Turns> {
    let rotation = model.rotation(0);
    let mut frequencies = rotation.frequencies.to_vec();
    if frequencies.is_empty() {
        return None;
    }
    frequencies.resize(width / 2, 0.0);
    Some(Turns { frequencies, factor: rotation.factor })
}

/// A projection whose heads are as wide as rows have them.
#[must_use]
pub fn padded(weight: &Weight, name: Name, heads: Heads) -> Cow<'_, Weight> {
    let Heads { width, own, .. } = heads;
    match name {
        Name::Q | Name::K | Name::V if width > own => {
            let narrow = weight.values();
            let mut values = Vec::with_capacity(narrow.len() / own * width);
            for head in narrow.chunks(own * weight.inputs) {
                values.extend(head);
                values.resize(values.len() + (width - own) * weight.inputs, 0.0);
            }
            Cow::Owned(Weight::new([weight.outputs / own * width, weight.inputs], &values))
        }
        Name::O if width > own => {
            let rows: Vec<f32> = weight.values().chunks(own).flat_map(|head| with_zeros(head, width)).collect();
            Cow::Owned(Weight::new([weight.outputs, weight.inputs / own * width], &rows))
        }
        _ => Cow::Borrowed(weight),
    }
}

/// The biases of a projection whose heads are as wide as rows have them.
#[must_use]
pub fn padded_bias(bias: &[f32], name: Name, heads: Heads) -> Vec<f64> {
    let wide = |row: &[f32]| row.iter().map(|&x| x.into()).collect::<Vec<f64>>();
    match name {
        Name::Q | Name::K | Name::V => {
            bias.chunks(heads.own).flat_map(|head| with_zeros(&wide(head), heads.width)).collect()
        }
        _ => wide(bias),
    }
}

/// Elements, then zeros up to so many.
pub(crate) fn with_zeros<T: Copy + Default>(row: &[T], width: usize) -> Vec<T> {
    let mut row = row.to_vec();
    row.resize(width, T::default());
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_get_zeros() {
        let heads = Heads { queries: 2, keys: 1, width: 4, own: 2 };
        // Outputs of a query projection with one input: rows; inputs of an output projection: columns.
        let q = Weight::new([4, 1], &[1.0, 2.0, 3.0, 4.0]);
        let wide = padded(&q, Name::Q, heads);
        assert_eq!((wide.inputs, wide.outputs), (1, 8));
        assert_eq!(wide.values(), [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0]);
        let o = Weight::new([2, 4], &(1_u8..=8).map(f32::from).collect::<Vec<_>>());
        let wide = padded(&o, Name::O, heads);
        assert_eq!((wide.inputs, wide.outputs), (8, 2));
        assert_eq!(wide.values()[..8], [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0]);
        assert_eq!(wide.values()[8..], [5.0, 6.0, 0.0, 0.0, 7.0, 8.0, 0.0, 0.0]);
        assert_eq!(padded_bias(&[1.0, 2.0], Name::K, heads), [1.0, 2.0, 0.0, 0.0]);
        assert_eq!(*padded(&q, Name::Up, heads), q);
        assert_eq!((heads.scale(), heads.shared()), (1.0 / 2.0_f64.sqrt(), 2));
    }

    /// In more outputs than are decoded together, and a number that fp16 has not.
    #[test]
    fn weights_of_a_model() {
        let values: Vec<f32> = (0..3 * 37).map(|n| 1.0 + n as f32 + 1e-4).collect();
        let of = Linear::of(Weight::new([37, 3], &values), vec![1.0]);
        assert_eq!((of.inputs(), of.outputs()), (3, 37));
        let wanted = |input: usize| (0..37).map(|output| (1 + 3 * output + input) as f64).collect();
        let wanted: Vec<Vec<f64>> = (0..3).map(wanted).collect();
        assert_eq!(*of.weights(), wanted);
        let columns: Vec<Vec<f64>> = (0..37).map(|output| wanted.iter().map(|row| row[output]).collect()).collect();
        assert!(of.columns().eq(columns.clone()) && Linear::new(wanted).columns().eq(columns));
    }

    #[test]
    fn angles_have_the_factor() {
        let turns = Turns { frequencies: vec![0.5, 0.0], factor: 2.0 };
        assert_eq!(turns.angles(0), [2.0, 0.0, 2.0, 0.0]);
        assert_eq!(turns.angles(3), [2.0 * 1.5_f64.cos(), 2.0 * 1.5_f64.sin(), 2.0, 0.0]);
    }
}
