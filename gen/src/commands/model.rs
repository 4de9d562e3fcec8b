//! `model`: what a file of a language model has, and which accelerators can run it.

use std::path::PathBuf;

use models::decoder::{Activation, Config, Decoder, Family, Positions, Precision, Scaling, Tokenizer, digest, stored};
use serde_json::{Value, json};

use super::eval::accelerator::needed;
use super::run::chosen::Accelerator;
use super::run::failures::{chain, refused};
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::params::ParamArgs;
use crate::present::numbers::decimal;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

/// Tokens of the text that accelerators are asked about, half of them a prompt, if the model's context is no shorter.
const TOKENS: usize = 32;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// GGUF file, or folder with `config.json`, safetensors and `tokenizer.json`
    path: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let progress = Progress::new(1, format!("reading {}", args.path.display()));
    let decoder = Decoder::open(&args.path, Precision::File).map_err(refused)?;
    let config = decoder.model.config();
    let shape = shape(config, &decoder.tokenizer, decoder.model.is_tied());
    let tensors = stored(&args.path).map_err(refused)?;
    let tokens = TOKENS.min(config.context);
    let accelerators = accelerators(catalogue, config, tokens)?;
    let digest = digest(&args.path).map_err(refused)?;
    drop(progress);
    if args.json {
        let shape: serde_json::Map<String, Value> =
            shape.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let tensors: Vec<Value> =
            tensors.iter().map(|one| json!({ "type": one.kind, "tensors": one.tensors, "bytes": one.bytes })).collect();
        let accelerators: Vec<Value> =
            accelerators.iter().map(|(name, needs)| json!({ "accelerator": name, "needs": needs })).collect();
        return report::json(&json!({
            "digest": digest, "model": shape, "tensors": tensors, "tokens": tokens, "accelerators": accelerators,
        }));
    }
    let mut first = Table::new(["model", ""]);
    for (name, value) in shape {
        let value = value.as_str().map_or_else(|| crate::present::numbers::shown(&value), str::to_owned);
        first.row([name.to_owned(), value]);
    }
    let mut second = Table::new(["elements", "tensors", "bytes"]);
    for one in tensors {
        second.row([one.kind, decimal(one.tensors as f64, 0), decimal(one.bytes as f64, 0)]);
    }
    let mut third = Table::new(["on", "with default parameters"]);
    for (name, needs) in accelerators {
        third.row([name.to_owned(), if needs.is_empty() { "runs".to_owned() } else { needs.join("; ") }]);
    }
    let [first, second, third] = [first, second, third].map(|table| report::table(&table));
    report::print(&format!("{first}\n{second}\n{third}\na text of {tokens} tokens, half of them a prompt\n"))
}

/// Shape, constants and tokenizer, by name.
fn shape(config: &Config, tokenizer: &Tokenizer, tied: bool) -> Vec<(&'static str, Value)> {
    let family = match config.family {
        Family::Llama => "Llama",
        Family::Gpt => "GPT",
    };
    let positions = match config.positions {
        Positions::Rotary(rotary) => {
            let scaling = match rotary.scaling {
                Scaling::None => "not scaled".to_owned(),
                Scaling::Linear { factor } => format!("linear, factor {factor}"),
                Scaling::Llama3 { factor, .. } => format!("llama3, factor {factor}"),
                Scaling::Yarn { factor, .. } => format!("yarn, factor {factor}"),
            };
            format!("rotary, base {}, {scaling}", rotary.base)
        }
        Positions::Learned { .. } => "learned".to_owned(),
    };
    // As `lane.function` has them.
    let activation = match config.activation {
        Activation::Silu => "silu",
        Activation::Relu => "relu",
        Activation::Gelu => "gelu_erf",
        Activation::GeluTanh => "gelu_tanh",
    };
    vec![
        ("family", family.into()),
        ("layers", config.layers.into()),
        ("width", config.width.into()),
        ("feed-forward width", config.ffn_width.into()),
        ("heads", config.heads.into()),
        ("key heads", config.kv_heads.into()),
        ("head width", config.head_width.into()),
        ("positions", positions.into()),
        ("activation", activation.into()),
        ("vocabulary", config.vocabulary.into()),
        ("context", config.context.into()),
        ("last product", if tied { "the embedding" } else { "weights of its own" }.into()),
        ("tokenizer", tokenizer.about().into()),
        ("tokens of the tokenizer", tokenizer.vocabulary().into()),
    ]
}

/// Accelerators by short name, each with the parameters that must be others.
fn accelerators(catalogue: &Catalogue, config: &Config, tokens: usize) -> Result<Vec<(&'static str, Vec<String>)>> {
    let mut all = Vec::new();
    for (name, _) in catalogue.all().iter().filter_map(|entry| entry.runs()) {
        let on = Accelerator::named(catalogue, name, &ParamArgs::default())?;
        let settings = on.machine.calibrates().defaults().map_err(refused)?;
        let needs = match needed(&on.machine, config, ([tokens, tokens.div_ceil(2)], &settings)) {
            Ok(needs) => needs.all().iter().map(ToString::to_string).collect(),
            // What no parameter gives.
            Err(error) => vec![chain(&error)],
        };
        all.push((name, needs));
    }
    Ok(all)
}
