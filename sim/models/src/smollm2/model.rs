//! The decoder (Llama, Touvron et al. 2023, section 2.2): its shape, its weights, a pass of tokens through it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use half::f16;

use super::arithmetic::{Arithmetic, Group, Norm, Projection, Rotation};
use super::matrix::{Matrix, Weight};
use crate::gguf::File;

/// Shape and constants of a model, all from the file's metadata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Decoder layers.
    pub layers: usize,
    /// Elements of the residual stream.
    pub width: usize,
    /// Elements between the two halves of the feed-forward network.
    pub ffn_width: usize,
    /// Query heads.
    pub heads: usize,
    /// Key heads; query head h reads key head `h / (heads / kv_heads)`.
    pub kv_heads: usize,
    /// Elements of a head.
    pub head_width: usize,
    /// Base of the rotary embedding's angles.
    pub rope_base: f64,
    /// Epsilon that RMSNorm adds to the mean of the squares.
    pub norm_eps: f64,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Tokens of a text that the model was made for.
    pub context: usize,
}

impl Config {
    /// Reads the configuration from a file.
    ///
    /// # Errors
    /// The architecture is another one, a key is missing, or the shape contradicts itself.
    pub fn read(file: &File) -> Result<Self> {
        let architecture = file.text("general.architecture")?;
        ensure!(
            architecture == "llama",
            "{}: a model of architecture `{architecture}`, wanted is `llama`",
            file.path().display()
        );
        let key = |name: &str| format!("llama.{name}");
        let count = |name: &str| file.count(&key(name));
        let config = Self {
            layers: count("block_count")?,
            width: count("embedding_length")?,
            ffn_width: count("feed_forward_length")?,
            heads: count("attention.head_count")?,
            kv_heads: count("attention.head_count_kv")?,
            head_width: count("rope.dimension_count")?,
            rope_base: file.float(&key("rope.freq_base"))?,
            norm_eps: file.float(&key("attention.layer_norm_rms_epsilon"))?,
            vocabulary: count("vocab_size")?,
            context: count("context_length")?,
        };
        config.check().with_context(|| file.path().display().to_string())?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        let counts =
            [self.layers, self.width, self.ffn_width, self.heads, self.kv_heads, self.vocabulary, self.context];
        ensure!(counts.iter().all(|&n| n > 0), "a model of no layers, heads, elements or tokens: {self:?}");
        ensure!(
            self.heads.is_multiple_of(self.kv_heads),
            "{} heads cannot share {} key heads",
            self.heads,
            self.kv_heads
        );
        ensure!(
            self.head_width.is_multiple_of(2) && self.heads.checked_mul(self.head_width) == Some(self.width),
            "{} heads of {} are not the width, {}",
            self.heads,
            self.head_width,
            self.width
        );
        ensure!(
            self.rope_base > 0.0 && self.norm_eps >= 0.0,
            "rotary base {} or epsilon {}",
            self.rope_base,
            self.norm_eps
        );
        Ok(())
    }

    /// Outputs and inputs of a projection.
    #[must_use]
    pub fn shape(&self, projection: Projection) -> [usize; 2] {
        let keys = self.kv_heads * self.head_width;
        match projection {
            Projection::Q | Projection::O => [self.width, self.width],
            Projection::K | Projection::V => [keys, self.width],
            Projection::Gate | Projection::Up => [self.ffn_width, self.width],
            Projection::Down => [self.width, self.ffn_width],
            Projection::Logits => [self.vocabulary, self.width],
        }
    }
}

/// Projections of a layer, and their names in the file.
const LAYER: [(Projection, &str); 7] = [
    (Projection::Q, "attn_q"),
    (Projection::K, "attn_k"),
    (Projection::V, "attn_v"),
    (Projection::O, "attn_output"),
    (Projection::Gate, "ffn_gate"),
    (Projection::Up, "ffn_up"),
    (Projection::Down, "ffn_down"),
];

/// The precision of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The file's own precision.
    File,
    /// Rounded to binary16, as in the committed tensors.
    Half,
}

/// A model with its weights.
#[derive(Clone, Debug)]
pub struct Model {
    config: Config,
    weights: BTreeMap<(usize, Projection), Weight>,
    gains: BTreeMap<(usize, Norm), Vec<f32>>,
}

impl Model {
    /// Reads all weights.
    ///
    /// # Errors
    /// The errors of [`Config::read`]; or a tensor is missing or has another shape, or a weight is beyond binary16.
    pub fn read(file: &File, precision: Precision) -> Result<Self> {
        let config = Config::read(file)?;
        let weight = |name: &str, projection: Projection| -> Result<Weight> {
            let shape = config.shape(projection);
            let mut values = file.tensor_of(&format!("{name}.weight"), &shape)?.values;
            if precision == Precision::Half {
                values.iter_mut().for_each(|w| *w = f16::from_f32(*w).to_f32());
                ensure!(values.iter().all(|w| w.is_finite()), "weights of `{name}` are beyond binary16");
            }
            Ok(Weight { outputs: shape[0], inputs: shape[1], values })
        };
        let gain =
            |name: &str| -> Result<Vec<f32>> { Ok(file.tensor_of(&format!("{name}.weight"), &[config.width])?.values) };
        let (mut weights, mut gains) = (BTreeMap::new(), BTreeMap::new());
        for layer in 0..config.layers {
            for (projection, name) in LAYER {
                weights.insert((layer, projection), weight(&format!("blk.{layer}.{name}"), projection)?);
            }
            gains.insert((layer, Norm::Attention), gain(&format!("blk.{layer}.attn_norm"))?);
            gains.insert((layer, Norm::FeedForward), gain(&format!("blk.{layer}.ffn_norm"))?);
        }
        gains.insert((config.layers, Norm::Output), gain("output_norm")?);
        // The last product has the embedding's weights, if it has none of its own.
        ensure!(
            file.tensors().all(|name| name != "output.weight"),
            "{}: an output projection of its own; wanted is a tied embedding",
            file.path().display()
        );
        weights.insert((config.layers, Projection::Logits), weight("token_embd", Projection::Logits)?);
        Ok(Self { config, weights, gains })
    }

    /// A model with given weights of [`Config::shape`], and with given gains of the model's width.
    ///
    /// # Errors
    /// The shape contradicts itself, or a weight or gain is missing or has another shape.
    pub fn new(
        config: Config,
        weights: BTreeMap<(usize, Projection), Weight>,
        gains: BTreeMap<(usize, Norm), Vec<f32>>,
    ) -> Result<Self> {
        config.check()?;
        let model = Self { config, weights, gains };
        let of_layers = (0..config.layers).flat_map(|layer| LAYER.map(|(projection, _)| (layer, projection)));
        for (layer, projection) in of_layers.chain([(config.layers, Projection::Logits)]) {
            let Weight { outputs, inputs, values } = model.weight(layer, projection)?;
            let (found, wanted) = ([*outputs, *inputs], config.shape(projection));
            let whole = values.len() == outputs * inputs;
            ensure!(found == wanted && whole, "{projection:?} of layer {layer} is {found:?}, wanted is {wanted:?}");
        }
        let of_layers = (0..config.layers).flat_map(|layer| [Norm::Attention, Norm::FeedForward].map(|n| (layer, n)));
        for (layer, norm) in of_layers.chain([(config.layers, Norm::Output)]) {
            let found = model.gain(layer, norm)?.len();
            ensure!(found == config.width, "gain {norm:?} of layer {layer} has {found}, wanted are {}", config.width);
        }
        Ok(model)
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
        self.weights.get(&(layer, projection)).with_context(|| format!("layer {layer} has no weight {projection:?}"))
    }

    /// The gain of an RMSNorm; [`Norm::Output`] belongs to the layer after the last.
    ///
    /// # Errors
    /// No such layer or norm in it.
    pub fn gain(&self, layer: usize, norm: Norm) -> Result<&[f32]> {
        let gain = self.gains.get(&(layer, norm));
        Ok(gain.with_context(|| format!("layer {layer} has no gain {norm:?}"))?)
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
        let embedding = self.weight(c.layers, Projection::Logits)?;
        let mut x = Matrix::zeros(0, c.width);
        for &token in tokens {
            let token = token as usize;
            ensure!(token < c.vocabulary, "token {token}; the vocabulary has {}", c.vocabulary);
            x.values.extend(embedding.output(token).iter().map(|&w| f64::from(w)));
        }
        for layer in 0..c.layers {
            self.layer(layer, &mut x, cache, arithmetic)?;
        }
        cache.tokens = after;
        self.norm(c.layers, Norm::Output, &x, arithmetic)
    }

    /// The last product: a row of numbers for each row of [`Model::forward`], one for each token of the vocabulary.
    ///
    /// # Errors
    /// `arithmetic` fails.
    pub fn logits(&self, x: &Matrix, arithmetic: &mut dyn Arithmetic) -> Result<Matrix> {
        self.linear(self.config.layers, Projection::Logits, x, arithmetic)
    }

    fn layer(&self, layer: usize, x: &mut Matrix, cache: &mut Cache, a: &mut dyn Arithmetic) -> Result<()> {
        let c = &self.config;
        let turn = Rotation { width: c.head_width, base: c.rope_base, past: cache.tokens };
        let attn_in = self.norm(layer, Norm::Attention, x, a)?;
        let mut q = self.linear(layer, Projection::Q, &attn_in, a)?;
        let mut k = self.linear(layer, Projection::K, &attn_in, a)?;
        let v = self.linear(layer, Projection::V, &attn_in, a)?;
        a.rotate(layer, Projection::Q, &mut q, turn)?;
        a.rotate(layer, Projection::K, &mut k, turn)?;
        let mut attn_out = Matrix::zeros(x.rows(), c.width);
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
        let gate = self.linear(layer, Projection::Gate, &ffn_in, a)?;
        let up = self.linear(layer, Projection::Up, &ffn_in, a)?;
        let down_in = a.gate(layer, gate, &up)?;
        let down = self.linear(layer, Projection::Down, &down_in, a)?;
        a.add(layer, x, &down)
    }

    fn linear(&self, layer: usize, projection: Projection, x: &Matrix, a: &mut dyn Arithmetic) -> Result<Matrix> {
        let weight = self.weight(layer, projection)?;
        let y = a.linear(layer, projection, x, weight)?;
        let (found, wanted) = ((y.rows(), y.columns), (x.rows(), weight.outputs));
        ensure!(found == wanted, "{projection:?} of layer {layer} is {found:?}, wanted is {wanted:?}");
        Ok(y)
    }

    fn norm(&self, layer: usize, norm: Norm, x: &Matrix, a: &mut dyn Arithmetic) -> Result<Matrix> {
        a.norm(layer, norm, x, self.gain(layer, norm)?, self.config.norm_eps)
    }
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

#[cfg(test)]
mod tests;
