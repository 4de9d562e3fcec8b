//! Decoders of two families, from files: shape, weights, tokenizer, and a pass through them in floats.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use models::decoder::{Decoder, Float, Precision};
//!
//! // A GGUF file, or a folder with `config.json`, safetensors and `tokenizer.json`.
//! let decoder = Decoder::open(Path::new("model.gguf"), Precision::File)?;
//! let tokens = decoder.tokenizer.prompt("Gravity is")?;
//! let model = &decoder.model;
//! let x = model.forward(&tokens, &mut model.cache(), &mut Float)?;
//! // A row for each token of the text, a column for each token of the vocabulary.
//! let logits = model.logits(&x, &mut Float)?;
//! assert_eq!((logits.rows(), logits.columns), (tokens.len(), model.config().vocabulary));
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! | family | files |
//! | --- | --- |
//! | [`Family::Llama`] | GGUF `llama`, `qwen2`; `transformers` llama, mistral, qwen2 |
//! | [`Family::Gpt`] | GGUF `gpt2`; `transformers` gpt2, opt |
//!
//! What a file has and this module has not is refused by name: keys, tensors, scalings, activations, experts, windows.
//! [`Arithmetic`] is floats, or the numbers that a study puts in their place, product by product.

pub mod arithmetic;
pub mod calibration;
pub mod choices;
mod config;
mod config_json;
mod folder;
mod gguf;
pub mod key_values;
pub mod matrix;
pub mod model;
pub mod perplexity;
pub mod residual;
mod rotary;
mod tensors;
mod tokenizer;

use std::path::Path;

use anyhow::{Result, ensure};

pub use arithmetic::{Arithmetic, Float};
pub use config::{Activation, Config, Family, Positions};
pub use matrix::{Matrix, Weight};
pub use model::{Cache, Model, Parts, Precision, Step};
pub use rotary::{Rotary, Scaling};
pub use tokenizer::Tokenizer;

/// A model with its tokenizer.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// Shape and weights.
    pub model: Model,
    /// From text to tokens and back.
    pub tokenizer: Tokenizer,
}

impl Decoder {
    /// Reads a GGUF file, or a folder with `config.json`, safetensors and `tokenizer.json`.
    ///
    /// # Errors
    /// A file is missing or damaged, or has what is not supported. The message names the file, and the tensor or key.
    pub fn open(path: &Path, precision: Precision) -> Result<Self> {
        let made = if path.is_dir() {
            let model = Model::read_folder(path, precision)?;
            Self { model, tokenizer: Tokenizer::read_folder(path)? }
        } else {
            let file = crate::gguf::File::open(path)?;
            Self { model: Model::read(&file, precision)?, tokenizer: Tokenizer::read(&file)? }
        };
        let (found, most) = (made.tokenizer.vocabulary(), made.model.config().vocabulary);
        ensure!(found <= most, "{}: a tokenizer of {found} tokens, the model has {most}", path.display());
        Ok(made)
    }
}
