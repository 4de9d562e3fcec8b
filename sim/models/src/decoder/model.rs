//! A model with its weights, and a pass of tokens through it.

use std::collections::BTreeMap;
use std::iter::once;

use anyhow::{Context, Result, ensure};

use super::arithmetic::{Arithmetic, Group, Norm, Projection, Rotation};
use super::config::{Config, Family, Positions};
use super::matrix::Matrix;
use super::weight::Weight;

/// The precision of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The file's own precision.
    File,
    /// Rounded to binary16, as in the committed tensors.
    Half,
}

/// All numbers of a model, by layer. What belongs to the last product has the number of layers as its layer.
///
/// Rows of Q and K stand so that elements 2i and 2i + 1 of a head turn together.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Weights of [`Config::shape`].
    pub weights: BTreeMap<(usize, Projection), Weight>,
    /// Biases, a number for each output; a projection without an entry has none.
    pub biases: BTreeMap<(usize, Projection), Vec<f32>>,
    /// Gains of norms, as many as the model's width.
    pub gains: BTreeMap<(usize, Norm), Vec<f32>>,
    /// Biases of norms: the GPT family.
    pub shifts: BTreeMap<(usize, Norm), Vec<f32>>,
    /// The embedding, if the last product has weights of its own.
    pub embedding: Option<Weight>,
    /// A row for each position: the GPT family.
    pub positions: Option<Weight>,
    /// Divisors of the rotary frequencies, one for each pair of a head: `rope_freqs` of GGUF files.
    pub divisors: Option<Vec<f32>>,
}

/// A model with its weights.
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    parts: Parts,
    /// Radians that each pair of a head turns a token. Empty in the GPT family.
    frequencies: Vec<f64>,
}

impl Model {
    /// A model of the Llama family without biases, whose last product has the embedding's weights.
    ///
    /// # Errors
    /// The errors of [`Model::from_parts`].
    pub fn new(
        config: Config,
        weights: BTreeMap<(usize, Projection), Weight>,
        gains: BTreeMap<(usize, Norm), Vec<f32>>,
    ) -> Result<Self> {
        Self::from_parts(config, Parts { weights, gains, ..Parts::default() })
    }

    /// A model of its parts.
    ///
    /// # Errors
    /// The shape contradicts itself; or a part is missing, is too many, or has another shape.
    pub fn from_parts(config: Config, parts: Parts) -> Result<Self> {
        config.check()?;
        let mut frequencies = match config.positions {
            Positions::Rotary(rotary) => rotary.frequencies(config.head_width),
            Positions::Learned { .. } => Vec::new(),
        };
        if let Some(divisors) = &parts.divisors {
            let (found, wanted) = (divisors.len(), frequencies.len());
            ensure!(found == wanted, "{found} divisors of rotary frequencies, wanted are {wanted}");
            for (i, (frequency, &divisor)) in frequencies.iter_mut().zip(divisors).enumerate() {
                ensure!(divisor > 0.0, "divisor {i} of the rotary frequencies is {divisor}, wanted is more than 0");
                *frequency /= f64::from(divisor);
            }
        }
        let model = Self { config, parts, frequencies };
        model.check()?;
        Ok(model)
    }

    fn check(&self) -> Result<()> {
        let (c, parts) = (&self.config, &self.parts);
        let all = || {
            let of_layer = |layer| c.projections().iter().map(move |&projection| (layer, projection));
            (0..c.layers).flat_map(of_layer).chain([(c.layers, Projection::Logits)])
        };
        for (layer, projection) in all() {
            shaped(&format!("{projection:?} of layer {layer}"), self.weight(layer, projection)?, c.shape(projection))?;
            if let Some(bias) = self.bias(layer, projection) {
                let (found, wanted) = (bias.len(), c.shape(projection)[0]);
                ensure!(found == wanted, "{found} biases of {projection:?} of layer {layer}, wanted are {wanted}");
            }
        }
        let known = all().count();
        let stray = parts.biases.keys().find(|&&key| all().all(|known| known != key));
        ensure!(stray.is_none(), "biases of {stray:?}, which the model has not");
        ensure!(parts.weights.len() == known, "{} weights, wanted are {known}", parts.weights.len());
        let norms = || {
            let of_layer = |layer| [Norm::Attention, Norm::FeedForward].map(|norm| (layer, norm));
            (0..c.layers).flat_map(of_layer).chain([(c.layers, Norm::Output)])
        };
        let with_shifts = c.family == Family::Gpt;
        ensure!(with_shifts || parts.shifts.is_empty(), "biases of norms, which the family {:?} has not", c.family);
        for (layer, norm) in norms() {
            let found = self.gain(layer, norm)?.len();
            ensure!(found == c.width, "gain {norm:?} of layer {layer} has {found}, wanted are {}", c.width);
            if with_shifts {
                let found = self.shift(layer, norm)?.len();
                ensure!(found == c.width, "bias of {norm:?} of layer {layer} has {found}, wanted are {}", c.width);
            }
        }
        if let Some(embedding) = &parts.embedding {
            shaped("the embedding", embedding, c.shape(Projection::Logits))?;
        }
        match (c.positions, &parts.positions) {
            (Positions::Rotary(_), None) => Ok(()),
            (Positions::Learned { offset }, Some(table)) => {
                shaped("the table of positions", table, [c.context + offset, c.width])
            }
            (positions, _) => anyhow::bail!("a table of positions that does not suit {positions:?}"),
        }
    }

    /// The model without its layers, and each layer as a model of that layer alone. Whoever has used a layer gives its
    /// memory back.
    #[must_use]
    pub fn apart(mut self) -> (Self, Vec<Self>) {
        let (config, parts) = (self.config, &mut self.parts);
        let layers = (0..config.layers).map(|layer| {
            let parts = Parts {
                weights: of_layer(&mut parts.weights, layer),
                biases: of_layer(&mut parts.biases, layer),
                gains: of_layer(&mut parts.gains, layer),
                shifts: of_layer(&mut parts.shifts, layer),
                ..Parts::default()
            };
            Self { config, parts, frequencies: self.frequencies.clone() }
        });
        let layers = layers.collect();
        (self, layers)
    }

    /// A name of shape and weights: it differs where a number does.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{:?}", self.config).as_bytes());
        let Parts { weights, biases, gains, shifts, embedding, positions, divisors } = &self.parts;
        let mut add = |name: String, count: usize, rows: &mut dyn Iterator<Item = Vec<f32>>| {
            hasher.update(format!("{name} {count}").as_bytes());
            for row in rows {
                let bytes: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
                hasher.update(&bytes);
            }
        };
        weights.iter().for_each(|(key, weight)| add(format!("weight {key:?}"), weight.count(), &mut weight.iter()));
        biases.iter().for_each(|(key, row)| add(format!("bias {key:?}"), row.len(), &mut once(row.clone())));
        gains.iter().for_each(|(key, row)| add(format!("gain {key:?}"), row.len(), &mut once(row.clone())));
        shifts.iter().for_each(|(key, row)| add(format!("shift {key:?}"), row.len(), &mut once(row.clone())));
        embedding.iter().for_each(|weight| add("embedding".to_owned(), weight.count(), &mut weight.iter()));
        positions.iter().for_each(|weight| add("positions".to_owned(), weight.count(), &mut weight.iter()));
        divisors.iter().for_each(|row| add("divisors".to_owned(), row.len(), &mut once(row.clone())));
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// All numbers.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Shape and constants.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A weight; [`Projection::Logits`] belongs to the layer after the last.
    ///
    /// # Errors
    /// No such layer or projection in it.
    pub fn weight(&self, layer: usize, projection: Projection) -> Result<&Weight> {
        let weight = self.parts.weights.get(&(layer, projection));
        weight.with_context(|| format!("layer {layer} has no weight {projection:?}"))
    }

    /// The biases of a projection, if it has some.
    #[must_use]
    pub fn bias(&self, layer: usize, projection: Projection) -> Option<&[f32]> {
        self.parts.biases.get(&(layer, projection)).map(Vec::as_slice)
    }

    /// The gain of a norm; [`Norm::Output`] belongs to the layer after the last.
    ///
    /// # Errors
    /// No such layer or norm in it.
    pub fn gain(&self, layer: usize, norm: Norm) -> Result<&[f32]> {
        let gain = self.parts.gains.get(&(layer, norm));
        Ok(gain.with_context(|| format!("layer {layer} has no gain {norm:?}"))?)
    }

    /// The biases of a norm: the GPT family.
    ///
    /// # Errors
    /// No such layer or norm in it, or another family.
    pub fn shift(&self, layer: usize, norm: Norm) -> Result<&[f32]> {
        let shift = self.parts.shifts.get(&(layer, norm));
        Ok(shift.with_context(|| format!("layer {layer} has no bias of {norm:?}"))?)
    }

    /// A row for each token of the vocabulary: the first residual of a text.
    ///
    /// # Errors
    /// The model has no such weight.
    pub fn embedding(&self) -> Result<&Weight> {
        match &self.parts.embedding {
            Some(embedding) => Ok(embedding),
            None => self.weight(self.config.layers, Projection::Logits),
        }
    }

    /// Whether the last product has the embedding's weights.
    #[must_use]
    pub fn is_tied(&self) -> bool {
        self.parts.embedding.is_none()
    }

    /// How heads turn from position `past` on. Of no pairs in the GPT family.
    #[must_use]
    pub fn rotation(&self, past: usize) -> Rotation<'_> {
        let factor = if let Positions::Rotary(rotary) = self.config.positions { rotary.factor() } else { 1.0 };
        Rotation { frequencies: &self.frequencies, factor, past }
    }

    /// Keys and values of no token yet.
    #[must_use]
    pub fn cache(&self) -> Cache {
        let heads = vec![Matrix::zeros(0, self.config.head_width); self.config.kv_heads];
        Cache { tokens: 0, layers: vec![(heads.clone(), heads); self.config.layers] }
    }

    /// Passes `tokens` through all layers, after the tokens in the cache, and adds them to the cache. Returns the
    /// inputs of the last product, a row for each token.
    ///
    /// # Errors
    /// A token is not in the vocabulary, there are more tokens than the model's context, or `arithmetic` fails. The
    /// cache may then hold a part of the tokens, and must not be used any more.
    pub fn forward(&self, tokens: &[u32], cache: &mut Cache, arithmetic: &mut dyn Arithmetic) -> Result<Matrix> {
        let c = &self.config;
        let after = cache.tokens + tokens.len();
        ensure!(after <= c.context, "a text of {after} tokens; the model's context is {}", c.context);
        let mut x = self.embed(tokens, cache.tokens)?;
        for layer in 0..c.layers {
            self.layer(layer, &mut x, cache, arithmetic)?;
        }
        cache.tokens = after;
        self.norm(c.layers, Norm::Output, &x, arithmetic)
    }

    /// The rows of the residual stream before the first layer, for tokens from position `past` on.
    ///
    /// # Errors
    /// A token is not in the vocabulary, or a position not in the table.
    pub fn embed(&self, tokens: &[u32], past: usize) -> Result<Matrix> {
        let (c, embedding) = (&self.config, self.embedding()?);
        let mut x = Matrix::zeros(0, c.width);
        for &token in tokens {
            let token = token as usize;
            ensure!(token < c.vocabulary, "token {token}; the vocabulary has {}", c.vocabulary);
            x.values.extend(embedding.output(token).into_iter().map(f64::from));
        }
        if let (Positions::Learned { offset }, Some(table)) = (c.positions, &self.parts.positions) {
            let end = past + tokens.len();
            ensure!(end <= c.context, "a text of {end} tokens; the model's context is {}", c.context);
            for (row, position) in x.iter_mut().zip(past + offset..) {
                row.iter_mut().zip(table.output(position)).for_each(|(x, p)| *x += f64::from(p));
            }
        }
        Ok(x)
    }

    /// The last product: a row of numbers for each row of [`Model::forward`], one for each token of the vocabulary.
    ///
    /// # Errors
    /// `arithmetic` fails.
    pub fn logits(&self, x: &Matrix, arithmetic: &mut dyn Arithmetic) -> Result<Matrix> {
        self.linear(self.config.layers, Projection::Logits, x, arithmetic)
    }

    /// Passes a whole text, rows of the residual stream, through one layer.
    ///
    /// # Errors
    /// No such layer, or `arithmetic` fails.
    pub fn through_layer(&self, layer: usize, x: &mut Matrix, arithmetic: &mut dyn Arithmetic) -> Result<()> {
        self.layer(layer, x, &mut self.cache(), arithmetic)
    }

    fn layer(&self, layer: usize, x: &mut Matrix, cache: &mut Cache, a: &mut dyn Arithmetic) -> Result<()> {
        let c = &self.config;
        let turn = self.rotation(cache.tokens);
        let attn_in = self.norm(layer, Norm::Attention, x, a)?;
        let mut q = self.linear(layer, Projection::Q, &attn_in, a)?;
        let mut k = self.linear(layer, Projection::K, &attn_in, a)?;
        let v = self.linear(layer, Projection::V, &attn_in, a)?;
        if !turn.frequencies.is_empty() {
            a.rotate(layer, Projection::Q, &mut q, turn)?;
            a.rotate(layer, Projection::K, &mut k, turn)?;
        }
        let mut attn_out = Matrix::zeros(x.rows(), c.heads * c.head_width);
        let shared = c.heads / c.kv_heads;
        for head in 0..c.kv_heads {
            let columns = |head: usize| head * c.head_width..(head + 1) * c.head_width;
            let (keys, values) =
                cache.append(layer, head, &k.some_columns(columns(head)), &v.some_columns(columns(head)));
            let queries: Vec<Matrix> =
                (head * shared..(head + 1) * shared).map(|h| q.some_columns(columns(h))).collect();
            let group = Group { layer, head, past: turn.past, keys, values };
            let results = a.attention(group, &queries)?;
            ensure!(results.len() == shared, "attention of {} heads, wanted are {shared} heads", results.len());
            for (i, result) in results.iter().enumerate() {
                attn_out.put_columns(columns(head * shared + i).start, result);
            }
        }
        let o = self.linear(layer, Projection::O, &attn_out, a)?;
        a.add(layer, x, &o)?;
        let ffn_in = self.norm(layer, Norm::FeedForward, x, a)?;
        let down_in = match c.family {
            Family::Llama => {
                let gate = self.linear(layer, Projection::Gate, &ffn_in, a)?;
                let up = self.linear(layer, Projection::Up, &ffn_in, a)?;
                a.gate(layer, gate, &up)?
            }
            Family::Gpt => {
                let up = self.linear(layer, Projection::Up, &ffn_in, a)?;
                a.activate(layer, up, c.activation)?
            }
        };
        let down = self.linear(layer, Projection::Down, &down_in, a)?;
        a.add(layer, x, &down)
    }

    fn linear(&self, layer: usize, projection: Projection, x: &Matrix, a: &mut dyn Arithmetic) -> Result<Matrix> {
        let weight = self.weight(layer, projection)?;
        let mut y = a.linear(layer, projection, x, weight)?;
        let (found, wanted) = ((y.rows(), y.columns), (x.rows(), weight.outputs));
        ensure!(found == wanted, "{projection:?} of layer {layer} is {found:?}, wanted is {wanted:?}");
        if let Some(bias) = self.bias(layer, projection) {
            a.bias(layer, projection, &mut y, bias)?;
        }
        Ok(y)
    }

    fn norm(&self, layer: usize, norm: Norm, x: &Matrix, a: &mut dyn Arithmetic) -> Result<Matrix> {
        let (gain, eps) = (self.gain(layer, norm)?, self.config.norm_eps);
        match self.config.family {
            Family::Llama => a.norm(layer, norm, x, gain, eps),
            Family::Gpt => a.layer_norm(layer, norm, x, [gain, self.shift(layer, norm)?], eps),
        }
    }
}

/// Takes what a layer has.
fn of_layer<K: Ord, V>(all: &mut BTreeMap<(usize, K), V>, layer: usize) -> BTreeMap<(usize, K), V> {
    let (of_layer, others) = std::mem::take(all).into_iter().partition(|((number, _), _)| *number == layer);
    *all = others;
    of_layer
}

fn shaped(what: &str, weight: &Weight, wanted: [usize; 2]) -> Result<()> {
    let found = [weight.outputs, weight.inputs];
    ensure!(found == wanted, "{what} is {found:?}, wanted is {wanted:?}");
    Ok(())
}

/// Keys, after rotary embedding, and values of the tokens so far.
#[derive(Clone, Debug)]
pub struct Cache {
    tokens: usize,
    /// By layer: a matrix a key head.
    layers: Vec<(Vec<Matrix>, Vec<Matrix>)>,
}

impl Cache {
    /// Tokens so far.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    fn append(&mut self, layer: usize, head: usize, k: &Matrix, v: &Matrix) -> (&Matrix, &Matrix) {
        let (keys, values) = &mut self.layers[layer];
        keys[head].values.extend(&k.values);
        values[head].values.extend(&v.values);
        (&keys[head], &values[head])
    }
}

mod drawn;
mod gradients;

pub use gradients::Step;

#[cfg(test)]
mod tests;
