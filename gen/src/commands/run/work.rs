//! An accelerator and a model, as arguments name them.

use std::path::PathBuf;

use lower::pass::Rows;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Decoder, Model, Precision, Tokenizer};
use models::default_model::{NAME, open, texts};
use testbenches::systems::decoding::Machine;

use super::{failed, refused};
use crate::catalogue::{Catalogue, Known, similar};
use crate::error::{Failure, Result};
use crate::params::ParamArgs;

/// Tokens of each window of the calibration text: the first ones, whose numbers are the largest.
const WINDOW_TOKENS: usize = 32;

#[derive(Debug, clap::Args)]
pub(in crate::commands) struct Work {
    /// Accelerator: a block that runs language models, or its short name, such as tender
    #[arg(long, value_name = "NAME")]
    pub on: String,
    #[command(flatten)]
    params: ParamArgs,
    /// Model: a GGUF file, or a folder with config.json, safetensors and tokenizer.json [default: SmolLM2-135M, which
    /// `scripts/setup full` fetches]
    #[arg(long, value_name = "PATH")]
    model: Option<PathBuf>,
}

/// A model whose tokenizer is read.
pub(in crate::commands) struct Source {
    pub tokenizer: Tokenizer,
    /// Reads the weights.
    pub read: Box<dyn FnOnce() -> Result<Model>>,
    pub name: String,
}

impl Work {
    /// The block, and its work on models.
    pub fn machine(&self, catalogue: &Catalogue) -> Result<(Known, Machine)> {
        let all: Vec<_> = catalogue.all().iter().filter_map(|entry| Some((entry, entry.runs()?))).collect();
        let found = all.iter().find(|(entry, (name, _))| [*name, entry.about().name].contains(&self.on.as_str()));
        let Some((entry, (_, params))) = found else {
            let names: Vec<&str> = all.iter().map(|(_, (name, _))| *name).collect();
            let near = similar(&self.on, &names);
            let hint = near.first().map(|name| format!(" did you mean {name}?")).unwrap_or_default();
            let known = names.join(", ");
            return Err(Failure::Usage(format!("no model runs on `{}`;{hint} accelerators are: {known}", self.on)));
        };
        let params = self.params.over(&***entry, params.clone())?;
        Ok(((*entry).clone(), entry.machine(&params)?))
    }

    /// The model.
    pub fn source(&self) -> Result<Source> {
        let Some(path) = &self.model else {
            let file = open()?;
            let tokenizer = Tokenizer::read(&file).map_err(failed)?;
            let read = Box::new(move || Model::read(&file, Precision::File).map_err(failed));
            return Ok(Source { tokenizer, read, name: NAME.into() });
        };
        let Decoder { model, tokenizer } = Decoder::open(path, Precision::File).map_err(refused)?;
        Ok(Source { tokenizer, read: Box::new(move || Ok(model)), name: path.display().to_string() })
    }
}

/// The input of each layer, for each text that scales and codebooks are fitted to.
pub(in crate::commands) fn calibration(model: &Model, tokenizer: &Tokenizer) -> anyhow::Result<Vec<Vec<Rows>>> {
    let mut all = vec![Vec::new(); model.config().layers];
    for window in texts::beginnings(tokenizer, WINDOW_TOKENS.min(model.config().context))? {
        all.iter_mut().zip(ahead_of_layers(model, &window)?).for_each(|(all, rows)| all.push(rows));
    }
    Ok(all)
}
