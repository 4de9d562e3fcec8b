//! An accelerator and a model by their names.

use std::path::Path;

use models::decoder::{Decoder, Model, Precision, Tokenizer, digest};
use models::default_model;
use testbenches::accelerators::decoding::Machine;

use super::failures::{failed, refused};
use crate::catalogue::{Catalogue, Known, Params, similar};
use crate::error::{Failure, Result};
use crate::params::ParamArgs;

/// A block that runs models.
pub(in crate::commands) struct Accelerator {
    pub entry: Known,
    /// All parameters.
    pub params: Params,
    /// The block at work.
    pub machine: Machine,
}

impl Accelerator {
    /// The accelerator of a name, or of a short name.
    pub fn named(catalogue: &Catalogue, name: &str, params: &ParamArgs) -> Result<Self> {
        let all: Vec<_> = catalogue.all().iter().filter_map(|entry| Some((entry, entry.runs()?))).collect();
        let found = all.iter().find(|(entry, (short, _))| [*short, entry.about().name].contains(&name));
        let Some((entry, (_, defaults))) = found else {
            let names: Vec<&str> = all.iter().map(|(_, (name, _))| *name).collect();
            let near = similar(name, &names);
            let hint = near.first().map(|name| format!(" did you mean {name}?")).unwrap_or_default();
            let known = names.join(", ");
            return Err(Failure::Usage(format!("no model runs on `{name}`;{hint} accelerators are: {known}")));
        };
        let params = params.over(&***entry, defaults.clone())?;
        let machine = entry.machine(&params)?;
        Ok(Self { entry: (*entry).clone(), params, machine })
    }
}

/// A model whose tokenizer is read.
pub(crate) struct Source {
    pub tokenizer: Tokenizer,
    /// Reads the weights.
    pub read: Box<dyn FnOnce() -> Result<Model>>,
    pub name: String,
}

impl Source {
    /// The model of a path, or the one of the studies.
    pub fn of(path: Option<&Path>, precision: Precision) -> Result<Self> {
        let Some(path) = path else {
            let file = default_model::open()?;
            let tokenizer = Tokenizer::read(&file).map_err(failed)?;
            let read = Box::new(move || Model::read(&file, precision).map_err(failed));
            return Ok(Self { tokenizer, read, name: default_model::NAME.into() });
        };
        let Decoder { model, tokenizer } = Decoder::open(path, precision).map_err(refused)?;
        Ok(Self { tokenizer, read: Box::new(move || Ok(model)), name: path.display().to_string() })
    }
}

/// The digest of the model of a path, or of the one of the studies.
pub(in crate::commands) fn digest_of(path: Option<&Path>) -> Result<String> {
    digest(&path.map_or_else(default_model::path, Path::to_owned)).map_err(refused)
}
