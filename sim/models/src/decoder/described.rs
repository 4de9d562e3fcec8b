//! A model's shape without its weights: from a file, or one of the shapes in this crate.

use std::path::Path;

use anyhow::{Context, Result};

use super::config::{Config, Family, Positions};
use super::config_json;
use super::folder::{CONFIG, json_file};
use super::projection::Projection;
use super::tensors::{Layout, located};
use crate::{WrongRequest, json};

/// Shapes in this crate by name, as `config.json` has them.
const SHIPPED: [(&str, &str); 11] = [
    ("SmolLM2-135M", include_str!("../../configs/SmolLM2-135M.json")),
    ("Llama-2-7B", include_str!("../../configs/Llama-2-7B.json")),
    ("Llama-2-13B", include_str!("../../configs/Llama-2-13B.json")),
    ("Llama-2-70B", include_str!("../../configs/Llama-2-70B.json")),
    ("Llama-3.2-3B", include_str!("../../configs/Llama-3.2-3B.json")),
    ("Mistral-7B", include_str!("../../configs/Mistral-7B.json")),
    ("Qwen2-7B", include_str!("../../configs/Qwen2-7B.json")),
    ("OPT-125M", include_str!("../../configs/OPT-125M.json")),
    ("OPT-6.7B", include_str!("../../configs/OPT-6.7B.json")),
    ("OPT-13B", include_str!("../../configs/OPT-13B.json")),
    ("OPT-66B", include_str!("../../configs/OPT-66B.json")),
];

/// The shape of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Its name: of the shape in this crate, or of the file.
    pub name: String,
    /// Shape and constants.
    pub config: Config,
    /// Numbers in all its tensors. A GGUF file says with its tensors what is in it, so there is none here.
    pub parameters: Option<u64>,
}

impl Described {
    /// Names of the shapes in this crate.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.into_iter().map(|(name, _)| name)
    }

    /// A shape in this crate. Upper and lower case are the same.
    ///
    /// # Errors
    /// A damaged file of this crate.
    pub fn shipped(name: &str) -> Result<Option<Self>> {
        let found = SHIPPED.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let read = |(name, text): (&str, &str)| {
            let path = Path::new(name);
            of_json(name.to_owned(), path, &json::object(path, text.as_bytes(), "the shape")?)
        };
        found.map(read).transpose()
    }

    /// The shape of a model in a file: a folder with `config.json`, a file of that form, or a GGUF file. No weights are
    /// read.
    ///
    /// # Errors
    /// The file is missing or damaged, or has what is not supported. The message names the file and the key.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let is_json = path.extension().is_some_and(|end| end == "json");
        if path.is_dir() {
            let file = path.join(CONFIG);
            if !file.exists() {
                return Err(WrongRequest(format!("{}: there is no {CONFIG}", path.display())).into());
            }
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            return of_json(name, &file, &json_file(&file)?);
        }
        if is_json {
            return of_json(name, path, &json_file(path)?);
        }
        let file = crate::gguf::File::open(path)?;
        let config = Config::read(&file)?;
        let parameters = file.tensors().map(|tensor| elements(file.shape(tensor))).sum::<Option<u64>>();
        Ok(Self { name, config, parameters })
    }

    /// A shape in this crate, or of a file.
    ///
    /// # Errors
    /// Neither: the message has all names.
    pub fn find(wanted: &str) -> Result<Self> {
        if let Some(found) = Self::shipped(wanted)? {
            return Ok(found);
        }
        let path = Path::new(wanted);
        if path.exists() {
            return Self::read(path);
        }
        let known: Vec<&str> = Self::names().collect();
        let told = format!("no model `{wanted}`: no file of this name, and the shapes here are {}", known.join(", "));
        Err(WrongRequest(told).into())
    }
}

fn elements(shape: Option<&[usize]>) -> Option<u64> {
    shape?.iter().try_fold(1_u64, |all, &size| all.checked_mul(size.try_into().ok()?))
}

fn of_json(name: String, path: &Path, all: &serde_json::Map<String, serde_json::Value>) -> Result<Described> {
    let (config, layout) = located(path, config_json::read(path, all, &[]))?;
    let parameters = parameters(&config, &layout).with_context(|| format!("{}: too many weights", path.display()))?;
    Ok(Described { name, config, parameters: Some(parameters) })
}

/// Numbers in all tensors of a model; none if they are too many to be counted.
fn parameters(config: &Config, layout: &Layout) -> Option<u64> {
    let matrix = |shape: [usize; 2]| elements(Some(&shape));
    let (width, layers) = (u64::try_from(config.width).ok()?, u64::try_from(config.layers).ok()?);
    let (norm, joined) = match config.family {
        Family::Llama => (width, false),
        // Gains and biases. Queries, keys and values of one tensor have biases always.
        Family::Gpt => (width.checked_mul(2)?, layout.names.joined.is_some()),
    };
    let mut layer = norm.checked_mul(2)?;
    for &projection in config.projections() {
        let shape = config.shape(projection);
        let in_joined = joined && matches!(projection, Projection::Q | Projection::K | Projection::V);
        let biased = in_joined || layout.biases.as_ref().is_some_and(|all| all.contains(&projection));
        layer = layer.checked_add(matrix(shape)?)?;
        layer = layer.checked_add(if biased { shape[0].try_into().ok()? } else { 0 })?;
    }
    let embedding = matrix(config.shape(Projection::Logits))?;
    let positions = match config.positions {
        Positions::Rotary(_) => 0,
        Positions::Learned { offset } => matrix([config.context.checked_add(offset)?, config.width])?,
    };
    let outside = if layout.tied == Some(false) { embedding.checked_mul(2)? } else { embedding };
    layer.checked_mul(layers)?.checked_add(outside)?.checked_add(positions)?.checked_add(norm)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of parameters that the models' publishers give, or that follow from the sizes in their papers.
    #[test]
    fn shapes_have_the_known_number_of_parameters() {
        for (name, wanted) in [
            ("SmolLM2-135M", 134_515_008),
            ("Llama-2-7B", 6_738_415_616),
            ("Llama-2-13B", 13_015_864_320),
            ("Llama-2-70B", 68_976_648_192),
            ("Llama-3.2-3B", 3_212_749_824),
            ("Mistral-7B", 7_248_023_552),
            ("Qwen2-7B", 7_615_616_512),
            ("OPT-125M", 125_239_296),
            ("OPT-6.7B", 6_658_473_984),
            ("OPT-13B", 12_853_473_280),
            ("OPT-66B", 65_719_701_504),
        ] {
            let found = Described::shipped(&name.to_lowercase()).unwrap().unwrap();
            assert_eq!((found.name.as_str(), found.parameters), (name, Some(wanted)));
        }
        assert_eq!(Described::names().count(), 11);
    }

    #[test]
    fn files_and_names() {
        let dir = tempfile::tempdir().unwrap();
        let text = SHIPPED[1].1;
        let file = dir.path().join("mine.json");
        std::fs::write(&file, text).unwrap();
        std::fs::write(dir.path().join(CONFIG), text.replace("4096", "4095")).unwrap();
        let shipped = Described::shipped("llama-2-7b").unwrap().unwrap();
        let read = Described::find(file.to_str().unwrap()).unwrap();
        assert_eq!((read.name.as_str(), read.config), ("mine", shipped.config));
        let refused = |path: &Path| format!("{:#}", Described::find(path.to_str().unwrap()).unwrap_err());
        let told = refused(dir.path());
        assert!(told.contains("config.json") && told.contains("32 heads do not divide the width, 4095"), "{told}");
        std::fs::write(&file, text.replace("\"num_hidden_layers\": 32,", "")).unwrap();
        let told = refused(&file);
        assert!(told.contains("mine.json") && told.contains("there is no `num_hidden_layers`"), "{told}");
        let told = refused(Path::new("Llama-9"));
        assert!(told.contains("no model `Llama-9`") && told.contains("Qwen2-7B"), "{told}");
    }
}
