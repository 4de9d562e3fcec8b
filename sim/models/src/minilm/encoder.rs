//! The encoder as a whole, in f64.

use anyhow::{Context, Result, ensure};

use super::layer::{Affine, Exact, Layer, Linear};
use crate::safetensors::File;

/// Shape and constants, as the model's `config.json` has them.
const LAYERS: usize = 6;
const WIDTH: usize = 384;
const HIDDEN: usize = 1536;
const HEADS: usize = 12;
const POSITIONS: usize = 512;
const VOCABULARY: usize = 30_522;
const EPSILON: f64 = 1e-12;

/// Embeddings and layers.
#[derive(Clone, Debug)]
pub struct Encoder {
    words: Vec<f64>,
    positions: Vec<f64>,
    /// The addend of all tokens of a first sentence.
    first: Vec<f64>,
    norm: Affine,
    layers: Vec<Layer>,
}

impl Encoder {
    /// Reads all weights.
    ///
    /// # Errors
    /// A tensor that is missing or has another shape.
    pub fn read(file: &File) -> Result<Self> {
        let tensor = |name: &str, shape: &[usize]| -> Result<Vec<f64>> {
            Ok(file.tensor_of(name, shape)?.into_iter().map(f64::from).collect())
        };
        let affine = |name: &str| -> Result<Affine> {
            let of = |what: &str| tensor(&format!("{name}.LayerNorm.{what}"), &[WIDTH]);
            Ok(Affine { gains: of("weight")?, biases: of("bias")? })
        };
        let layer = |number: usize| -> Result<Layer> {
            let name = |part: &str| format!("encoder.layer.{number}.{part}");
            let linear = |part: &str, outputs: usize, inputs: usize| -> Result<Linear> {
                let values = tensor(&format!("{}.weight", name(part)), &[outputs, inputs])?;
                let weight = (0..inputs).map(|i| values.iter().skip(i).step_by(inputs).copied().collect()).collect();
                Ok(Linear { weight, bias: tensor(&format!("{}.bias", name(part)), &[outputs])? })
            };
            Ok(Layer {
                heads: HEADS,
                epsilon: EPSILON,
                q: linear("attention.self.query", WIDTH, WIDTH)?,
                k: linear("attention.self.key", WIDTH, WIDTH)?,
                v: linear("attention.self.value", WIDTH, WIDTH)?,
                o: linear("attention.output.dense", WIDTH, WIDTH)?,
                up: linear("intermediate.dense", HIDDEN, WIDTH)?,
                down: linear("output.dense", WIDTH, HIDDEN)?,
                norms: [affine(&name("attention.output"))?, affine(&name("output"))?],
            })
        };
        let types = tensor("embeddings.token_type_embeddings.weight", &[2, WIDTH])?;
        Ok(Self {
            words: tensor("embeddings.word_embeddings.weight", &[VOCABULARY, WIDTH])?,
            positions: tensor("embeddings.position_embeddings.weight", &[POSITIONS, WIDTH])?,
            first: types[..WIDTH].to_vec(),
            norm: affine("embeddings")?,
            layers: (0..LAYERS).map(layer).collect::<Result<_>>()?,
        })
    }

    /// A layer's weights.
    ///
    /// # Errors
    /// No such layer.
    pub fn layer(&self, number: usize) -> Result<&Layer> {
        self.layers.get(number).with_context(|| format!("layer {number}; there are {LAYERS}"))
    }

    /// The input of a layer for some tokens.
    ///
    /// # Errors
    /// No such layer, a token that is not in the vocabulary, more tokens than positions.
    pub fn input(&self, layer: usize, tokens: &[u32]) -> Result<Vec<Vec<f64>>> {
        ensure!(layer <= LAYERS, "input of layer {layer}; there are {LAYERS}");
        ensure!(tokens.len() <= POSITIONS, "{} tokens; the model has {POSITIONS} positions", tokens.len());
        let mut rows = Vec::new();
        for (position, &token) in tokens.iter().enumerate() {
            let token = token as usize;
            ensure!(token < VOCABULARY, "token {token}; the vocabulary has {VOCABULARY}");
            let row = |table: &[f64], at: usize| table[at * WIDTH..][..WIDTH].to_vec();
            let of = [row(&self.words, token), row(&self.positions, position), self.first.clone()];
            rows.push((0..WIDTH).map(|c| of.iter().map(|row| row[c]).sum()).collect());
        }
        let x = self.norm.norm(&rows, EPSILON);
        Ok(self.layers[..layer].iter().fold(x, |x, layer| Exact::of(&x, layer).out))
    }

    /// The vector of a sentence: the mean over its tokens, of length 1.
    ///
    /// # Errors
    /// The errors of [`Self::input`], or there is no token.
    pub fn sentence(&self, tokens: &[u32]) -> Result<Vec<f64>> {
        ensure!(!tokens.is_empty(), "a sentence of no tokens");
        let rows = self.input(LAYERS, tokens)?;
        let sum: Vec<f64> = (0..WIDTH).map(|c| rows.iter().map(|row| row[c]).sum()).collect();
        let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        Ok(sum.iter().map(|x| x / length).collect())
    }
}
