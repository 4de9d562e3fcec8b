//! Calibrations, as commands read them.

use std::path::Path;

use lower::layer::Layer;
use lower::learn;
use lower::pass::{LayerLowering, Rows};
use models::calibration::{Arrays, Asked, Calibrates, Expected, File, Source};
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Config, Model, Tokenizer};
use models::default_model::texts;
use models::schemes::{Given, Settings};

use super::run::chosen::Accelerator;
use super::run::failures::{failed, refused};
use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::params::{ParamArgs, plain};
use crate::present::progress::Progress;

/// What the moving line says.
pub(super) const LEARNING: &str = "calibrating: the float model reads another text";

/// What an accelerator has learnt.
#[derive(Clone, Debug)]
pub(super) struct Learnt {
    /// Options of learning.
    pub settings: Settings,
    pub arrays: Arrays,
}

impl Learnt {
    /// A known calibration, or one from the text in this program.
    pub fn known_or_new(
        known: Option<Self>,
        on: &dyn Calibrates,
        (model, tokenizer): (&Model, &Tokenizer),
        progress: &Progress,
    ) -> Result<Self> {
        if let Some(known) = known {
            return Ok(known);
        }
        progress.message(LEARNING);
        let learn = || -> anyhow::Result<Self> {
            let (settings, length) = (on.defaults()?, on.window().min(model.config().context));
            let learning = texts::learning(tokenizer, length)?;
            let arrays = on.learn(&Source { model, learning: &learning }, &settings, &mut |_| ())?;
            Ok(Self { settings, arrays })
        };
        learn().map_err(failed)
    }

    /// What a layer learns from the text in this program.
    pub fn of_layer(
        on: &dyn LayerLowering,
        layer: &Layer,
        (model, tokenizer): (&Model, &Tokenizer),
        number: usize,
    ) -> anyhow::Result<Self> {
        let (settings, length) = (on.defaults()?, on.window().min(model.config().context));
        let read = |window: &Vec<u32>| Ok(ahead_of_layers(model, window)?.swap_remove(number));
        let windows = texts::beginnings(tokenizer, length)?;
        let texts = windows.iter().map(read).collect::<anyhow::Result<Vec<Rows>>>()?;
        let arrays = on.learn_layer(layer, &texts, &settings)?;
        Ok(Self { settings, arrays })
    }

    /// What a layer has learnt.
    pub fn layer(&self, number: usize) -> anyhow::Result<Self> {
        Ok(Self { settings: self.settings.clone(), arrays: self.arrays.layer(number)? })
    }

    pub fn borrowed(&self) -> learn::Learnt<'_> {
        learn::Learnt { settings: &self.settings, arrays: &self.arrays }
    }
}

/// Reads the calibration of an accelerator, with its parameters, for a model that it will run.
pub(super) fn read_for(path: &Path, on: &Accelerator, (digest, config): (&str, &Config)) -> Result<Learnt> {
    let file = File::read(path).map_err(refused)?;
    let Given { file, settings } = checked(file, on, (digest, config))?;
    let asked = Asked { config, settings: &settings, window: file.origin.text.context };
    let runs = on.machine.calibrates().runs_with(&asked, &file.arrays);
    runs.map_err(|e| Failure::Usage(format!("{}: {e:#}", file.path.display())))?;
    Ok(Learnt { settings, arrays: file.arrays })
}

/// Reads a calibration for a model, whatever the accelerator is, with the parameters that it was made for.
pub(super) fn read_any(path: &Path, catalogue: &Catalogue, (digest, config): (&str, &Config)) -> Result<Given> {
    let file = File::read(path).map_err(refused)?;
    let of = |pair: (&String, &serde_json::Value)| format!("{}={}", pair.0, plain(pair.1));
    let set: Vec<String> = file.origin.parameters.iter().map(of).collect();
    let on = Accelerator::named(catalogue, &file.origin.accelerator, &ParamArgs { set, config: None });
    let on = on.map_err(|e| Failure::Usage(format!("{}: {e}", file.path.display())))?;
    checked(file, &on, (digest, config))
}

fn wrong(file: &File, key: &str, error: &anyhow::Error) -> Failure {
    Failure::Usage(format!("{}: `{key}`: {error:#}", file.path.display()))
}

fn checked(file: File, on: &Accelerator, (digest, config): (&str, &Config)) -> Result<Given> {
    let calibrates = on.machine.calibrates();
    file.belongs_to(&Expected { accelerator: on.entry.about().name, digest }).map_err(refused)?;
    let (known, names) = (&file.origin.parameters, calibrates.parameters());
    for name in names {
        let (found, wanted) = (known.get(*name), on.params.get(*name));
        if found != wanted {
            let shown = |value: Option<&serde_json::Value>| value.map_or_else(|| "missing".to_owned(), plain);
            let (found, wanted) = (shown(found), shown(wanted));
            let told = anyhow::anyhow!("`{name}` is {found}, wanted is {wanted}, as the accelerator has it");
            return Err(wrong(&file, "parameters", &told));
        }
    }
    if let Some(stray) = known.keys().find(|name| !names.contains(&name.as_str())) {
        let all = if names.is_empty() { "there is none".to_owned() } else { names.join(", ") };
        let told = anyhow::anyhow!("`{stray}` is no parameter that calibrations depend on: {all}");
        return Err(wrong(&file, "parameters", &told));
    }
    let settings = file.settings(&calibrates.choices()).map_err(refused)?;
    let asked = Asked { config, settings: &settings, window: file.origin.text.context };
    let wanted = calibrates.wanted(&asked).map_err(|e| wrong(&file, "options", &e))?;
    file.arrays.check(&wanted, &|name| file.place(name)).map_err(refused)?;
    Ok(Given { file, settings })
}
