//! Decoder layers of the Llama and of the OPT shape in float arithmetic: the reference for layers on the core.

use anyhow::Context;
use golden::tender::granularity::product;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::super::float_head::{EPSILON, angles, probabilities, rms_norm, turned};
use super::super::float_layer::{HEAD, Layer, sum};

/// A projection.
#[derive(Clone, Debug)]
pub struct Linear {
    /// Weights, [in, out].
    pub weights: Vec<Vec<f64>>,
    /// Of each output; empty: none.
    pub biases: Vec<f64>,
}

impl Linear {
    fn of(&self, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut y = product(x, &self.weights);
        for row in &mut y {
            row.iter_mut().zip(&self.biases).for_each(|(y, bias)| *y += bias);
        }
        y
    }

    /// Number of outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.weights[0].len()
    }
}

/// A norm of rows.
#[derive(Clone, Debug)]
pub struct Norm {
    /// Of each channel.
    pub gains: Vec<f64>,
    /// The same; it is a layer norm where there are some, otherwise one by the root mean square.
    pub biases: Vec<f64>,
}

impl Norm {
    fn of(&self, row: &[f64]) -> Vec<f64> {
        if self.biases.is_empty() {
            return rms_norm(row, &self.gains);
        }
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let factor = 1.0 / (variance + EPSILON).sqrt();
        row.iter()
            .zip(&self.gains)
            .zip(&self.biases)
            .map(|((x, gain), bias)| (x - mean) * factor * gain + bias)
            .collect()
    }
}

/// The function of the feed-forward network between its projections.
#[derive(Clone, Debug)]
pub enum Activation {
    /// SiLU of the gate, times the up projection.
    GatedSilu(Linear),
    /// Negative numbers become 0.
    Relu,
    /// GELU by the hyperbolic tangent.
    Gelu,
}

/// A decoder layer.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// Ahead of the attention and of the feed-forward network.
    pub norms: [Norm; 2],
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
    /// Queries and keys are turned by their positions.
    pub rotary: bool,
}

impl From<&Layer> for Decoder {
    fn from(layer: &Layer) -> Self {
        let linear = |weights: &Vec<Vec<f64>>| Linear { weights: weights.clone(), biases: Vec::new() };
        Self {
            norms: layer.gains.clone().map(|gains| Norm { gains, biases: Vec::new() }),
            q: linear(&layer.q),
            k: linear(&layer.k),
            v: linear(&layer.v),
            o: linear(&layer.o),
            up: linear(&layer.up),
            activation: Activation::GatedSilu(linear(&layer.gate)),
            down: linear(&layer.down),
            rotary: true,
        }
    }
}

/// Sizes of a layer with drawn weights.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Channels of the residual stream.
    pub width: usize,
    /// Query heads, and heads of keys and values.
    pub heads: [usize; 2],
    /// Channels of the feed-forward network.
    pub inner: usize,
}

/// How a drawn layer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Norm by the root mean square, rotary embedding, gated SiLU, no biases.
    Llama,
    /// Layer norm, biases, no rotary embedding, ReLU.
    Opt,
    /// The same with GELU.
    OptGelu,
}

impl Decoder {
    /// A layer of drawn weights.
    pub fn drawn(rng: &mut StimulusRng, shape: Shape, sizes: Sizes) -> Self {
        let opt = shape != Shape::Llama;
        let Sizes { width, heads, inner } = sizes;
        let mut linear = |inputs: usize, outputs: usize| {
            let most = 1.7 / (inputs as f64).sqrt();
            let weights = (0..inputs).map(|_| (0..outputs).map(|_| rng.random_range(-most..most)).collect()).collect();
            let biases = (0..if opt { outputs } else { 0 }).map(|_| rng.random_range(-0.3..0.3)).collect();
            Linear { weights, biases }
        };
        let [q, k, v] = [heads[0], heads[1], heads[1]].map(|heads| linear(width, heads * HEAD));
        let (o, up, down) = (linear(heads[0] * HEAD, width), linear(width, inner), linear(inner, width));
        let activation = match shape {
            Shape::Llama => Activation::GatedSilu(linear(width, inner)),
            Shape::Opt => Activation::Relu,
            Shape::OptGelu => Activation::Gelu,
        };
        let norms = [0, 1].map(|_| Norm {
            gains: (0..width).map(|_| rng.random_range(0.5..1.5)).collect(),
            biases: (0..if opt { width } else { 0 }).map(|_| rng.random_range(-0.2..0.2)).collect(),
        });
        Self { norms, q, k, v, o, up, activation, down, rotary: !opt }
    }

    /// Drawn rows of its residual stream.
    pub fn drawn_rows(&self, rng: &mut StimulusRng, tokens: usize) -> Vec<Vec<f64>> {
        let width = self.o.outputs();
        (0..tokens).map(|_| (0..width).map(|_| rng.random_range(-2.0..2.0)).collect()).collect()
    }

    /// Query heads, and heads of keys and values.
    #[must_use]
    pub fn heads(&self) -> [usize; 2] {
        [&self.q, &self.k].map(|projection| projection.outputs() / HEAD)
    }
}

/// A layer in float arithmetic, from the first token on. All heads of a row are side by side.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Input of the attention, after its norm.
    pub attended: Vec<Vec<f64>>,
    /// Queries, turned where they are.
    pub queries: Vec<Vec<f64>>,
    /// Keys, turned in the same way.
    pub keys: Vec<Vec<f64>>,
    /// Values.
    pub values: Vec<Vec<f64>>,
    /// Results of the attention.
    pub attention: Vec<Vec<f64>>,
    /// Input of the feed-forward network, after its norm.
    pub normed: Vec<Vec<f64>>,
    /// Input of the down projection.
    pub gated: Vec<Vec<f64>>,
    /// Output.
    pub out: Vec<Vec<f64>>,
}

impl Exact {
    /// The layer for rows of the residual stream.
    #[must_use]
    pub fn of(decoder: &Decoder, residual: &[Vec<f64>]) -> Self {
        let tokens = residual.len();
        let attended: Vec<Vec<f64>> = residual.iter().map(|row| decoder.norms[0].of(row)).collect();
        let angles = angles(tokens, HEAD);
        let turn = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let turned = |(row, by): (&Vec<f64>, &Vec<f64>)| row.chunks(HEAD).flat_map(|x| turned(x, by)).collect();
            if decoder.rotary { rows.iter().zip(&angles).map(turned).collect() } else { rows }
        };
        let (queries, keys) = (turn(decoder.q.of(&attended)), turn(decoder.k.of(&attended)));
        let values = decoder.v.of(&attended);
        let [heads, shared] = decoder.heads();
        let part = |rows: &[Vec<f64>], head: usize| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row[head * HEAD..(head + 1) * HEAD].to_vec()).collect()
        };
        let mut attention = vec![Vec::new(); tokens];
        for head in 0..heads {
            let group = head * shared / heads;
            let (q, k) = (part(&queries, head), part(&keys, group));
            let p: Vec<Vec<f64>> = (0..tokens).map(|t| probabilities(&q[t], &k[..=t], tokens)).collect();
            for (all, one) in attention.iter_mut().zip(product(&p, &part(&values, group))) {
                all.extend(one);
            }
        }
        let hidden = sum(residual, &decoder.o.of(&attention), 1.0);
        let normed: Vec<Vec<f64>> = hidden.iter().map(|row| decoder.norms[1].of(row)).collect();
        let mut gated = decoder.up.of(&normed);
        match &decoder.activation {
            Activation::GatedSilu(gate) => {
                for (row, gates) in gated.iter_mut().zip(gate.of(&normed)) {
                    row.iter_mut().zip(gates).for_each(|(x, gate)| *x *= gate / (1.0 + (-gate).exp()));
                }
            }
            Activation::Relu => gated.iter_mut().flatten().for_each(|x| *x = x.max(0.0)),
            Activation::Gelu => gated.iter_mut().flatten().for_each(|x| *x = gelu(*x)),
        }
        let out = sum(&hidden, &decoder.down.of(&gated), 1.0);
        Self { attended, queries, keys, values, attention, normed, gated, out }
    }

    /// The layer for several texts; all rows of one text come after the rows of the text before.
    ///
    /// # Errors
    /// No text.
    pub fn of_texts(decoder: &Decoder, texts: &[Vec<Vec<f64>>]) -> anyhow::Result<Self> {
        let mut all = texts.iter().map(|text| Self::of(decoder, text));
        let first = all.next().context("scales need a text")?;
        Ok(all.fold(first, Self::with))
    }

    fn with(mut self, behind: Self) -> Self {
        for (to, from) in [
            (&mut self.attended, behind.attended),
            (&mut self.queries, behind.queries),
            (&mut self.keys, behind.keys),
            (&mut self.values, behind.values),
            (&mut self.attention, behind.attention),
            (&mut self.normed, behind.normed),
            (&mut self.gated, behind.gated),
            (&mut self.out, behind.out),
        ] {
            to.extend(from);
        }
        self
    }
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    x / 2.0 * (1.0 + inner.tanh())
}
