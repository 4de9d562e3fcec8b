//! The way back through a model of the Llama family: gradients of the surprise at a text, in f64.
//!
//! Only the residual stream before each layer is kept. A layer is computed again when its turn comes, so memory grows
//! with one layer's activations, and not with the model's.

use anyhow::{Result, ensure};

use super::{Matrix, Model};
use crate::WrongRequest;
use crate::decoder::arithmetic::{Arithmetic, Group, Norm, Projection, Rotation, causal_softmax, rotate, silu_gate};
use crate::decoder::config::Family;
use crate::decoder::perplexity::surprise;
use crate::decoder::residual::ahead_of_layers;
use crate::decoder::weight::Weight;

/// Rows of logits at a time: each row is as long as the vocabulary.
const ROWS: usize = 64;

/// A projection on the way back.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The layer.
    pub layer: usize,
    /// The projection.
    pub projection: Projection,
    /// Its inputs, a row for each token.
    pub inputs: &'a Matrix,
    /// Gradients of the surprise by its outputs, a row for each token.
    pub outputs: &'a Matrix,
}

impl Step<'_> {
    /// Gradients of the surprise by the weights of an output, one for each input.
    #[must_use]
    pub fn of_output(&self, output: usize) -> Vec<f64> {
        let mut sum = vec![0.0; self.inputs.columns];
        for (x, dy) in self.inputs.iter().zip(self.outputs.iter()) {
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += dy[output] * x);
        }
        sum
    }
}

/// A layer's attention to one key head.
struct Attended {
    keys: Matrix,
    values: Matrix,
    queries: Vec<Matrix>,
    probabilities: Vec<Matrix>,
}

/// All of a layer that the way back needs.
#[derive(Default)]
struct Tape {
    inputs: std::collections::BTreeMap<Projection, Matrix>,
    normed: Vec<Matrix>,
    attended: Vec<Attended>,
    gate: Option<[Matrix; 2]>,
}

impl Arithmetic for Tape {
    fn linear(&mut self, _: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        self.inputs.insert(projection, x.clone());
        Ok(x.through(weight))
    }

    fn norm(&mut self, _: usize, _: Norm, x: &Matrix, gain: &[f32], eps: f64) -> Result<Matrix> {
        self.normed.push(x.clone());
        Ok(crate::decoder::arithmetic::rms_norm(x, gain, eps))
    }

    fn attention(&mut self, group: Group<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        let of = |q: &Matrix| causal_softmax(group, q.times_transposed(group.keys));
        let probabilities: Vec<Matrix> = queries.iter().map(of).collect();
        let results = probabilities.iter().map(|p| p.times(group.values)).collect();
        let (keys, values) = (group.keys.clone(), group.values.clone());
        self.attended.push(Attended { keys, values, queries: queries.to_vec(), probabilities });
        Ok(results)
    }

    fn gate(&mut self, _: usize, gate: Matrix, up: &Matrix) -> Result<Matrix> {
        self.gate = Some([gate.clone(), up.clone()]);
        Ok(silu_gate(gate, up))
    }
}

impl Model {
    /// Goes back through the layers, the last one first. `step` gets each projection of each layer once, with the
    /// gradients of the summed surprise at all tokens but the first. Returns this sum, in nats.
    ///
    /// # Errors
    /// The model is not of the family Llama, there are fewer than two tokens, `step` fails, or the errors of
    /// [`Model::forward`].
    pub fn backward(&self, tokens: &[u32], step: &mut dyn FnMut(&Step<'_>) -> Result<()>) -> Result<f64> {
        let c = &self.config;
        if c.family != Family::Llama {
            let told = format!("gradients are of models of the family Llama, this one is {:?}", c.family);
            return Err(WrongRequest(told).into());
        }
        ensure!(tokens.len() > 1, "{} tokens; a surprise needs 2", tokens.len());
        let (read, next) = (&tokens[..tokens.len() - 1], &tokens[1..]);
        let ahead = ahead_of_layers(self, read)?;
        let mut ahead: Vec<Matrix> = ahead.iter().map(|rows| Matrix::from_rows(rows)).collect::<Result<_>>()?;
        let mut last = ahead.pop().unwrap_or_else(|| Matrix::zeros(0, c.width));
        let mut tape = self.taped(c.layers - 1, &mut last)?;
        let (mut dx, sum) = self.surprised(&last, next)?;
        for layer in (0..c.layers).rev() {
            dx = self.layer_back(layer, &tape, dx, step)?;
            if let Some(mut x) = ahead.pop() {
                tape = self.taped(layer - 1, &mut x)?;
            }
        }
        Ok(sum)
    }

    /// Passes rows through a layer, and keeps what the way back needs.
    fn taped(&self, layer: usize, x: &mut Matrix) -> Result<Tape> {
        let mut tape = Tape::default();
        self.through_layer(layer, x, &mut tape)?;
        Ok(tape)
    }

    /// The surprise at the next tokens after these rows of the residual stream, and its gradients by the rows.
    fn surprised(&self, x: &Matrix, next: &[u32]) -> Result<(Matrix, f64)> {
        let c = &self.config;
        let (gain, weight) = (self.gain(c.layers, Norm::Output)?, self.weight(c.layers, Projection::Logits)?);
        let normed = crate::decoder::arithmetic::rms_norm(x, gain, c.norm_eps);
        let (mut sum, mut dx) = (0.0, Matrix::zeros(0, c.width));
        for from in (0..x.rows()).step_by(ROWS) {
            let rows = from..(from + ROWS).min(x.rows());
            let mut logits = normed.some_rows(rows.clone()).through(weight);
            if let Some(bias) = self.bias(c.layers, Projection::Logits) {
                crate::decoder::arithmetic::add_bias(&mut logits, bias);
            }
            for (row, &token) in logits.iter_mut().zip(&next[rows]) {
                sum += surprise(row, token);
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                row.iter_mut().for_each(|x| *x = (*x - most).exp());
                let all: f64 = row.iter().sum();
                row.iter_mut().for_each(|x| *x /= all);
                row[token as usize] -= 1.0;
            }
            dx.values.extend(logits.back_through(weight).values);
        }
        Ok((norm_back(x, gain, c.norm_eps, &dx), sum))
    }

    fn layer_back(
        &self,
        layer: usize,
        tape: &Tape,
        dx: Matrix,
        step: &mut dyn FnMut(&Step<'_>) -> Result<()>,
    ) -> Result<Matrix> {
        use Projection::{Down, Gate, K, O, Q, Up, V};
        let c = &self.config;
        let mut linear = |projection, outputs: &Matrix| -> Result<Matrix> {
            let inputs = tape.inputs.get(&projection);
            let inputs = inputs.ok_or_else(|| anyhow::anyhow!("{projection:?} of layer {layer} was not computed"))?;
            step(&Step { layer, projection, inputs, outputs })?;
            Ok(outputs.back_through(self.weight(layer, projection)?))
        };
        let (Some([gate, up]), [attention, feed_forward]) = (&tape.gate, &tape.normed[..]) else {
            anyhow::bail!("layer {layer} has another structure than the family Llama");
        };
        let gated = linear(Down, &dx)?;
        let [dgate, dup] = gate_back(gate, up, &gated);
        let mut dnormed = linear(Gate, &dgate)?;
        plus(&mut dnormed, &linear(Up, &dup)?);
        let gain = self.gain(layer, Norm::FeedForward)?;
        let mut dhidden = norm_back(feed_forward, gain, c.norm_eps, &dnormed);
        plus(&mut dhidden, &dx);

        let dattended = linear(O, &dhidden)?;
        let rows = dx.rows();
        let [mut dq, mut dk, mut dv] = [c.heads, c.kv_heads, c.kv_heads].map(|n| Matrix::zeros(rows, n * c.head_width));
        let shared = c.heads / c.kv_heads;
        for (head, attended) in tape.attended.iter().enumerate() {
            let [mut dkeys, mut dvalues] = [0, 1].map(|_| Matrix::zeros(rows, c.head_width));
            for (i, (q, p)) in attended.queries.iter().zip(&attended.probabilities).enumerate() {
                let first = (head * shared + i) * c.head_width;
                let dout = dattended.some_columns(first..first + c.head_width);
                plus(&mut dvalues, &p.transposed_times(&dout));
                let dscores = softmax_back(p, dout.times_transposed(&attended.values), c.head_width);
                dq.put_columns(first, &dscores.times(&attended.keys));
                plus(&mut dkeys, &dscores.transposed_times(q));
            }
            dk.put_columns(head * c.head_width, &dkeys);
            dv.put_columns(head * c.head_width, &dvalues);
        }
        // A turn is an orthogonal matrix times a factor: back is the turn by the negative angle.
        let turn = self.rotation(0);
        let back: Vec<f64> = turn.frequencies.iter().map(|f| -f).collect();
        let back = Rotation { frequencies: &back, ..turn };
        [&mut dq, &mut dk].into_iter().for_each(|x| rotate(x, back));
        let mut dnormed = linear(Q, &dq)?;
        plus(&mut dnormed, &linear(K, &dk)?);
        plus(&mut dnormed, &linear(V, &dv)?);
        let mut dresidual = norm_back(attention, self.gain(layer, Norm::Attention)?, c.norm_eps, &dnormed);
        plus(&mut dresidual, &dhidden);
        Ok(dresidual)
    }
}

fn plus(x: &mut Matrix, y: &Matrix) {
    x.values.iter_mut().zip(&y.values).for_each(|(x, y)| *x += y);
}

/// Gradients by the inputs of `RMSNorm`.
fn norm_back(x: &Matrix, gain: &[f32], eps: f64, dy: &Matrix) -> Matrix {
    let mut dx = dy.clone();
    for (dx, x) in dx.iter_mut().zip(x.iter()) {
        let n = x.len() as f64;
        let scale = (x.iter().map(|x| x * x).sum::<f64>() / n + eps).sqrt();
        dx.iter_mut().zip(gain).for_each(|(d, &gain)| *d *= f64::from(gain));
        let along = dx.iter().zip(x).map(|(d, x)| d * x).sum::<f64>() / (n * scale.powi(3));
        dx.iter_mut().zip(x).for_each(|(d, x)| *d = *d / scale - x * along);
    }
    dx
}

/// Gradients by both factors of `silu(gate) * up`.
fn gate_back(gate: &Matrix, up: &Matrix, dy: &Matrix) -> [Matrix; 2] {
    let (mut dgate, mut dup) = (dy.clone(), dy.clone());
    let factors = gate.values.iter().zip(&up.values);
    for ((dgate, dup), (&g, &u)) in dgate.values.iter_mut().zip(&mut dup.values).zip(factors) {
        let sigmoid = 1.0 / (1.0 + (-g).exp());
        *dgate *= u * sigmoid * (1.0 + g * (1.0 - sigmoid));
        *dup *= g * sigmoid;
    }
    [dgate, dup]
}

/// Gradients by scores of a head, of which softmax takes a part of the root of its width.
fn softmax_back(p: &Matrix, mut dp: Matrix, width: usize) -> Matrix {
    let root = (width as f64).sqrt();
    for (d, p) in dp.iter_mut().zip(p.iter()) {
        let mean: f64 = d.iter().zip(p).map(|(d, p)| d * p).sum();
        d.iter_mut().zip(p).for_each(|(d, p)| *d = p * (*d - mean) / root);
    }
    dp
}

#[cfg(test)]
mod tests;
