//! A model from a GGUF file: architectures `llama`, `qwen2` and `gpt2`.

use std::cell::RefCell;
use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

use super::arithmetic::Projection;
use super::config::{Activation, Config, Family, Positions};
use super::model::{Model, Precision};
use super::rotary::{Rotary, Scaling};
use super::tensors::{self, Layout, Names, Source, located};
use crate::gguf::{Elements, File, Value};
use crate::json::SIZES;

impl Source for File {
    fn name(&self) -> String {
        self.path().display().to_string()
    }

    fn tensors(&self) -> Vec<&str> {
        File::tensors(self).collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        File::shape(self, name)
    }

    fn read(&self, name: &str, shape: &[usize]) -> sim::Result<Elements> {
        self.elements_of(name, shape)
    }
}

/// Keys of an architecture that change nothing that is computed here.
const HARMLESS: [&str; 2] = ["rope.scaling.finetuned", "tensor_data_layout"];

/// The keys of an architecture, each read once.
struct Keys<'a> {
    file: &'a File,
    architecture: &'a str,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Keys<'a> {
    fn get(&self, name: &str) -> (String, Option<&'a Value>) {
        let key = format!("{}.{name}", self.architecture);
        self.read.borrow_mut().insert(key.clone());
        let value = self.file.get(&key);
        (key, value)
    }

    fn count(&self, name: &str) -> Result<usize> {
        self.sized(&self.get(name).0)
    }

    fn sized(&self, key: &str) -> Result<usize> {
        let found = self.file.count(key)?;
        ensure!(
            SIZES.contains(&found),
            "`{key}` is {found}, wanted is a number from {} to {}",
            SIZES.start(),
            SIZES.end()
        );
        Ok(found)
    }

    fn float(&self, name: &str) -> Result<f64> {
        Ok(self.file.float(&self.get(name).0)?)
    }

    fn maybe<T>(&self, name: &str, read: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
        match self.get(name) {
            (key, Some(_)) => Ok(Some(read(&key)?)),
            _ => Ok(None),
        }
    }

    fn maybe_count(&self, name: &str) -> Result<Option<usize>> {
        self.maybe(name, |key| self.sized(key))
    }

    fn maybe_float(&self, name: &str) -> Result<Option<f64>> {
        self.maybe(name, |key| Ok(self.file.float(key)?))
    }

    /// Refuses a key unless its value says that there is no such thing.
    fn without(&self, name: &str, what: &str) -> Result<()> {
        match self.get(name) {
            (_, None | Some(Value::Integer(0))) => Ok(()),
            (key, Some(found)) => bail!("`{key}` is {found}: {what}, which is not supported"),
        }
    }

    /// Refuses a key unless it has this value.
    fn only(&self, name: &str, wanted: &Value) -> Result<()> {
        match self.get(name) {
            (key, Some(found)) if found != wanted => {
                bail!("`{key}` is {found}, which is not supported; wanted is {wanted}")
            }
            _ => Ok(()),
        }
    }

    fn finish(&self) -> Result<()> {
        let (read, prefix) = (self.read.borrow(), format!("{}.", self.architecture));
        for key in self.file.keys() {
            let Some(name) = key.strip_prefix(&prefix) else { continue };
            ensure!(read.contains(key) || HARMLESS.contains(&name), "the key `{key}` is not supported");
        }
        Ok(())
    }
}

impl Config {
    /// Reads the configuration from a GGUF file.
    ///
    /// # Errors
    /// The architecture is another one, a key is missing or not supported, or the shape contradicts itself.
    pub fn read(file: &File) -> Result<Self> {
        located(file.path(), read(file))
    }
}

fn read(file: &File) -> Result<Config> {
    let architecture = file.text("general.architecture")?;
    let keys = Keys { file, architecture, read: RefCell::default() };
    let config = match architecture {
        "llama" | "qwen2" => llama(&keys)?,
        "gpt2" => gpt2(&keys)?,
        other => bail!("a model of architecture `{other}`, wanted is `llama`, `qwen2` or `gpt2`"),
    };
    keys.only("attention.causal", &Value::Bool(true))?;
    keys.only("logit_scale", &Value::Float(1.0))?;
    keys.finish()?;
    config.check()?;
    Ok(config)
}

/// Tokens of the vocabulary: by its key, or as many as the tokenizer has.
fn vocabulary(keys: &Keys<'_>) -> Result<usize> {
    if let Some(count) = keys.maybe_count("vocab_size")? {
        return Ok(count);
    }
    let tokens = keys.file.texts("tokenizer.ggml.tokens");
    Ok(tokens.context(format!("there is no `{}.vocab_size`", keys.architecture))?.len())
}

fn llama(keys: &Keys<'_>) -> Result<Config> {
    for (name, what) in [
        ("expert_count", "a mixture of experts"),
        ("expert_used_count", "a mixture of experts"),
        ("attention.sliding_window", "a sliding window"),
    ] {
        keys.without(name, what)?;
    }
    let (width, heads) = (keys.count("embedding_length")?, keys.count("attention.head_count")?);
    let share = || -> Result<usize> {
        ensure!(width.is_multiple_of(heads), "{heads} heads do not divide the width, {width}");
        Ok(width / heads)
    };
    let turned = keys.maybe_count("rope.dimension_count")?;
    let head_width = match keys.maybe_count("attention.key_length")? {
        Some(found) => found,
        None => turned.map_or_else(share, Ok)?,
    };
    for (name, found) in
        [("rope.dimension_count", turned), ("attention.value_length", keys.maybe_count("attention.value_length")?)]
    {
        let right = found.is_none_or(|found| found == head_width);
        let found = found.unwrap_or_default();
        ensure!(right, "`{}.{name}` is {found}, wanted is the width of a head, {head_width}", keys.architecture);
    }
    Ok(Config {
        family: Family::Llama,
        layers: keys.count("block_count")?,
        width,
        ffn_width: keys.count("feed_forward_length")?,
        heads,
        kv_heads: keys.maybe_count("attention.head_count_kv")?.unwrap_or(heads),
        head_width,
        positions: Positions::Rotary(rotary(keys)?),
        activation: Activation::Silu,
        norm_eps: keys.float("attention.layer_norm_rms_epsilon")?,
        vocabulary: vocabulary(keys)?,
        context: keys.count("context_length")?,
    })
}

fn rotary(keys: &Keys<'_>) -> Result<Rotary> {
    // The format's base, if a file has none.
    let base = keys.maybe_float("rope.freq_base")?.unwrap_or(10_000.0);
    let kind = keys.maybe("rope.scaling.type", |key| Ok(keys.file.text(key)?))?.unwrap_or("none");
    let scaling = match kind {
        "none" => Scaling::None,
        "linear" => Scaling::Linear { factor: keys.float("rope.scaling.factor")? },
        "yarn" => {
            let factor = keys.float("rope.scaling.factor")?;
            // Factors of other kinds of yarn, which only change how strong the ramp is.
            let ramp = keys.maybe_float("rope.scaling.yarn_ext_factor")?.unwrap_or(1.0);
            ensure!(ramp == 1.0, "`{}.rope.scaling.yarn_ext_factor` is {ramp}, wanted is 1", keys.architecture);
            let times = keys.maybe_float("rope.scaling.yarn_attn_factor")?.unwrap_or(1.0)
                * keys.maybe_float("rope.scaling.attn_factor")?.unwrap_or(1.0);
            Scaling::Yarn {
                factor,
                fast: keys.maybe_float("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
                slow: keys.maybe_float("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
                original: keys.count("rope.scaling.original_context_length")? as f64,
                attention: Scaling::yarn_attention(factor) * times,
                whole: true,
            }
        }
        other => bail!("`{}.rope.scaling.type` is `{other}`, wanted is none, linear or yarn", keys.architecture),
    };
    if scaling == Scaling::None {
        let factor = keys.maybe_float("rope.scaling.factor")?.unwrap_or(1.0);
        ensure!(factor == 1.0, "`{}.rope.scaling.factor` is {factor} without a type", keys.architecture);
    }
    Ok(Rotary { base, scaling })
}

fn gpt2(keys: &Keys<'_>) -> Result<Config> {
    let (width, heads) = (keys.count("embedding_length")?, keys.count("attention.head_count")?);
    ensure!(width.is_multiple_of(heads), "{heads} heads do not divide the width, {width}");
    let kv_heads = keys.maybe_count("attention.head_count_kv")?.unwrap_or(heads);
    ensure!(kv_heads == heads, "{kv_heads} key heads of {heads} heads, wanted are as many");
    Ok(Config {
        family: Family::Gpt,
        layers: keys.count("block_count")?,
        width,
        ffn_width: keys.count("feed_forward_length")?,
        heads,
        kv_heads,
        head_width: width / heads,
        positions: Positions::Learned { offset: 0 },
        // The only one of this architecture in GGUF.
        activation: Activation::GeluTanh,
        norm_eps: keys.float("attention.layer_norm_epsilon")?,
        vocabulary: vocabulary(keys)?,
        context: keys.count("context_length")?,
    })
}

const PROJECTIONS: [(Projection, &str); 7] = [
    (Projection::Q, "attn_q"),
    (Projection::K, "attn_k"),
    (Projection::V, "attn_v"),
    (Projection::O, "attn_output"),
    (Projection::Gate, "ffn_gate"),
    (Projection::Up, "ffn_up"),
    (Projection::Down, "ffn_down"),
];

/// Projections that are not in the tensor of Q, K and V.
const REST: [(Projection, &str); 3] = [PROJECTIONS[3], PROJECTIONS[5], PROJECTIONS[6]];

fn layout(architecture: &str) -> Layout {
    let gpt = architecture == "gpt2";
    Layout {
        names: Names {
            layer: "blk.".into(),
            joined: gpt.then_some("attn_qkv"),
            projections: if gpt { &REST } else { &PROJECTIONS },
            norms: ["attn_norm", "ffn_norm"],
            output_norm: "output_norm".into(),
            embedding: "token_embd".into(),
            positions: "position_embd".into(),
            output: "output".into(),
            divisors: (!gpt).then_some("rope_freqs.weight"),
            derived: &[],
        },
        transposed: false,
        split_halves: architecture == "qwen2",
        tied: None,
        biases: match architecture {
            "gpt2" => Some(REST.map(|(projection, _)| projection).to_vec()),
            "qwen2" => Some(vec![Projection::Q, Projection::K, Projection::V]),
            _ => None,
        },
    }
}

impl Model {
    /// Reads all weights of a GGUF file.
    ///
    /// # Errors
    /// The errors of [`Config::read`]; or a tensor is missing, unknown or of another shape, or a weight is beyond
    /// binary16.
    pub fn read(file: &File, precision: Precision) -> Result<Self> {
        let config = Config::read(file)?;
        let layout = layout(file.text("general.architecture")?);
        located(file.path(), tensors::read(file, config, &layout, precision))
    }
}
