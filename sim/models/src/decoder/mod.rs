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
mod described;
mod folder;
mod gguf;
pub mod key_values;
pub mod matrix;
pub mod model;
pub mod perplexity;
mod projection;
pub mod residual;
mod rotary;
mod tensors;
mod tokenizer;
mod weight;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

pub use arithmetic::{Arithmetic, Float};
pub use config::{Activation, Config, Family, Positions};
pub use described::Described;
pub use matrix::Matrix;
pub use model::{Cache, Model, Parts, Precision, Step};
pub use rotary::{Rotary, Scaling};
pub use tokenizer::Tokenizer;
pub use weight::Weight;

use crate::WrongRequest;

/// BLAKE3 of the files that [`Decoder::open`] reads, in base 16: of a GGUF file, or of names and contents in a folder.
///
/// # Errors
/// A file is missing or cannot be read.
pub fn digest(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let reading = |path: &Path| format!("cannot read {}", path.display());
    let mut all = Vec::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).with_context(|| reading(path))? {
            let file = entry.with_context(|| reading(path))?.path();
            let name = file.file_name().and_then(|name| name.to_str());
            if name.is_some_and(folder::is_read) && file.is_file() {
                all.push(file);
            }
        }
        all.sort();
    } else {
        all.push(path.to_owned());
    }
    for file in &all {
        if path.is_dir() {
            // Contents that move from one file to another are other contents.
            let length = file.metadata().with_context(|| reading(file))?.len();
            hasher.update(format!("{} {length} ", file.file_name().unwrap_or_default().display()).as_bytes());
        }
        let opened = std::fs::File::open(file).with_context(|| reading(file))?;
        hasher.update_reader(opened).with_context(|| reading(file))?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Tensors of a model's file or folder that are stored in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// How an element is stored, such as `F16`.
    pub kind: String,
    /// Tensors.
    pub tensors: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// How the tensors of what [`Decoder::open`] reads are stored.
///
/// # Errors
/// A file is missing or damaged.
pub fn stored(path: &Path) -> Result<Vec<Stored>> {
    let all: Vec<(String, u64)> = if path.is_dir() {
        folder::stored(path)?
    } else {
        let file = crate::gguf::File::open(path)?;
        file.tensors().filter_map(|name| file.stored(name)).collect()
    };
    let mut kinds: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for (kind, bytes) in all {
        let (tensors, sum) = kinds.entry(kind).or_default();
        *tensors += 1;
        *sum += bytes;
    }
    Ok(kinds.into_iter().map(|(kind, (tensors, bytes))| Stored { kind, tensors, bytes }).collect())
}

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
        // Parts of a folder.
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        if path.is_file() && ["safetensors", "json", "bin"].contains(&end) {
            let told = "is a part of a model in a folder, or no model; give the folder, or a GGUF file";
            return Err(WrongRequest(format!("{}: {told}", path.display())).into());
        }
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
