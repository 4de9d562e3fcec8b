//! A layer of the encoder in f64 (BERT, Devlin et al. 2019; Vaswani et al. 2017). Norms follow the residual sums.

use golden::kelle::aerp::softmax;
use golden::tender::granularity::product;

/// A projection with biases.
#[derive(Clone, Debug)]
pub struct Linear {
    /// [input, output].
    pub weight: Vec<Vec<f64>>,
    /// Bias of each output.
    pub bias: Vec<f64>,
}

impl Linear {
    /// A product, and the biases.
    #[must_use]
    pub fn of(&self, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        added(&product(x, &self.weight), std::slice::from_ref(&self.bias))
    }
}

/// Gains and biases of a layer norm.
#[derive(Clone, Debug)]
pub struct Affine {
    /// Factors.
    pub gains: Vec<f64>,
    /// Addends.
    pub biases: Vec<f64>,
}

impl Affine {
    /// Layer norm of each row.
    #[must_use]
    pub fn norm(&self, x: &[Vec<f64>], epsilon: f64) -> Vec<Vec<f64>> {
        let row = |row: &Vec<f64>| -> Vec<f64> {
            let n = row.len() as f64;
            let mean = row.iter().sum::<f64>() / n;
            let deviation = (row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n + epsilon).sqrt();
            let affine = self.gains.iter().zip(&self.biases);
            row.iter().zip(affine).map(|(x, (gain, bias))| (x - mean) / deviation * gain + bias).collect()
        };
        x.iter().map(row).collect()
    }
}

/// Weights of a layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Heads; each has queries, keys and values of its own.
    pub heads: usize,
    /// Epsilon that a layer norm adds to the variance.
    pub epsilon: f64,
    /// Queries.
    pub q: Linear,
    /// Keys.
    pub k: Linear,
    /// Values.
    pub v: Linear,
    /// Output of the attention.
    pub o: Linear,
    /// Into the feed-forward network.
    pub up: Linear,
    /// Out of it.
    pub down: Linear,
    /// Norms after attention and after the feed-forward network.
    pub norms: [Affine; 2],
}

/// A layer in float arithmetic.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Queries of all heads, side by side.
    pub queries: Vec<Vec<f64>>,
    /// Keys.
    pub keys: Vec<Vec<f64>>,
    /// Values.
    pub values: Vec<Vec<f64>>,
    /// Results of all heads.
    pub attention: Vec<Vec<f64>>,
    /// Results of the first norm.
    pub hidden: Vec<Vec<f64>>,
    /// Results of GELU.
    pub active: Vec<Vec<f64>>,
    /// Output: results of the second norm.
    pub out: Vec<Vec<f64>>,
}

impl Exact {
    /// The layer for some tokens. Each token sees all tokens.
    #[must_use]
    pub fn of(x: &[Vec<f64>], layer: &Layer) -> Self {
        Self::with(x, layer, |_| x.len())
    }

    /// The layer with causal attention: a token sees itself and the tokens before it. Accelerators for decoders compute
    /// this.
    #[must_use]
    pub fn causal(x: &[Vec<f64>], layer: &Layer) -> Self {
        Self::with(x, layer, |token| token + 1)
    }

    /// The layer. A token sees so many of the first tokens.
    fn with(x: &[Vec<f64>], layer: &Layer, seen: impl Fn(usize) -> usize) -> Self {
        let [queries, keys, values] = [&layer.q, &layer.k, &layer.v].map(|projection| projection.of(x));
        let width = layer.q.bias.len() / layer.heads;
        let mut attention = vec![Vec::new(); x.len()];
        for head in 0..layer.heads {
            let part = |rows: &[Vec<f64>]| columns(rows, head * width, width);
            let (q, k, v) = (part(&queries), part(&keys), part(&values));
            let score = |q: &[f64], k: &[f64]| q.iter().zip(k).map(|(a, b)| a * b).sum::<f64>() / (width as f64).sqrt();
            let row = |(token, q): (usize, &Vec<f64>)| {
                let mut p = softmax(&k[..seen(token)].iter().map(|k| score(q, k)).collect::<Vec<_>>());
                p.resize(k.len(), 0.0);
                p
            };
            let p: Vec<Vec<f64>> = q.iter().enumerate().map(row).collect();
            attention.iter_mut().zip(product(&p, &v)).for_each(|(all, one)| all.extend(one));
        }
        let hidden = layer.norms[0].norm(&added(&layer.o.of(&attention), x), layer.epsilon);
        let active: Vec<Vec<f64>> =
            layer.up.of(&hidden).iter().map(|row| row.iter().map(|&x| gelu(x)).collect()).collect();
        let out = layer.norms[1].norm(&added(&layer.down.of(&active), &hidden), layer.epsilon);
        Self { queries, keys, values, attention, hidden, active, out }
    }
}

/// Some columns of all rows.
#[must_use]
pub fn columns(rows: &[Vec<f64>], first: usize, count: usize) -> Vec<Vec<f64>> {
    rows.iter().map(|row| row[first..first + count].to_vec()).collect()
}

/// Element by element; one row stands for all.
fn added(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    a.iter().zip(b.iter().cycle()).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}

/// GELU: x times the probability that a normal random number is below x.
fn gelu(x: f64) -> f64 {
    x * 0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

/// The error function by a series without cancellation (Abramowitz and Stegun 7.1.6).
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, tables 7.1 and 26.1.
    #[test]
    fn printed_values() {
        for (x, printed) in [(0.0, 0.0), (0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0)] {
            assert!((erf(x) - printed).abs() < 1e-10 && (erf(-x) + printed).abs() < 1e-10, "{x}");
        }
        assert!((erf(5.9) - 1.0).abs() < 1e-14 && erf(7.0) == 1.0);
        assert!((gelu(1.0) - 0.841_344_746_1).abs() < 1e-10 && gelu(-40.0) == 0.0);
    }

    #[test]
    fn norms_by_hand() {
        let affine = Affine { gains: vec![2.0, 1.0], biases: vec![1.0, 0.0] };
        assert_eq!(affine.norm(&[vec![1.0, 3.0]], 0.0), [[-1.0, 1.0]]);
    }

    /// With keys that are all alike, attention is the mean of the values.
    #[test]
    fn attention_of_equal_keys_is_a_mean() {
        let eye = |scale: f64| (0..2).map(|r| (0..2).map(|c| if r == c { scale } else { 0.0 }).collect()).collect();
        let linear = |scale| Linear { weight: eye(scale), bias: vec![0.5; 2] };
        let plain = Affine { gains: vec![1.0; 2], biases: vec![0.0; 2] };
        let layer = Layer {
            heads: 2,
            epsilon: 0.0,
            q: linear(1.0),
            k: linear(0.0),
            v: linear(1.0),
            o: linear(0.0),
            up: linear(1.0),
            down: linear(0.0),
            norms: [plain.clone(), plain],
        };
        let x = [vec![1.0, 4.0], vec![3.0, 0.0]];
        let exact = Exact::of(&x, &layer);
        assert_eq!(exact.attention, [[2.5, 2.5], [2.5, 2.5]]);
        assert_eq!(Exact::causal(&x, &layer).attention, [[1.5, 4.5], [2.5, 2.5]]);
        assert_eq!(exact.hidden, [[-1.0, 1.0], [1.0, -1.0]]);
    }
}
