//! An accelerator, a model and a calibration, as arguments name them.

use std::path::PathBuf;

use models::calibration::File;
use models::decoder::{Config, Precision};
use models::default_model;

use super::super::calibrate::file_name;
use super::super::calibration::{Learnt, read_for};
use super::chosen::{Accelerator, Source, digest_of};
use super::failures::refused;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::params::ParamArgs;

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
    /// Groups, codebooks, thresholds and scales of this model, which `senbazuru calibrate` wrote: its folder [default:
    /// they are learnt from a text in this program]
    #[arg(long, value_name = "FOLDER")]
    calibration: Option<PathBuf>,
}

impl Work {
    /// The block, and its work on models.
    pub fn accelerator(&self, catalogue: &Catalogue) -> Result<Accelerator> {
        Accelerator::named(catalogue, &self.on, &self.params)
    }

    /// The model.
    pub fn source(&self) -> Result<Source> {
        Source::of(self.model.as_deref(), Precision::File)
    }

    /// What a layer was made of, as lines of text: names without the folders of this machine, and digests.
    pub fn origin(&self) -> Result<Vec<String>> {
        let name = self.model.as_deref().map_or_else(|| default_model::NAME.to_owned(), file_name);
        let learnt = match &self.calibration {
            Some(path) => {
                let file = File::read(path).map_err(refused)?;
                format!("Calibration: {}, {}.", file_name(path), file.fingerprint())
            }
            None => "Calibration: learnt from the text in the program.".to_owned(),
        };
        Ok(vec![format!("Model: {name}, BLAKE3 {}.", digest_of(self.model.as_deref())?), learnt])
    }

    /// The calibration of a file, if the user names one.
    pub fn known(&self, on: &Accelerator, config: &Config) -> Result<Option<Learnt>> {
        let Some(path) = &self.calibration else { return Ok(None) };
        let digest = digest_of(self.model.as_deref())?;
        read_for(path, on, (&digest, config)).map(Some)
    }
}
