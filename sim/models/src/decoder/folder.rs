//! A model from a folder of safetensors with its `config.json`, as the Python package `transformers` leaves it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};
use sim::Error;

use super::config_json;
use super::model::{Model, Precision};
use super::tensors::{self, Source, located};
use crate::WrongRequest;
use crate::gguf::Elements;
use crate::json;
use crate::safetensors::File;

pub(super) const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";
const INDEX: &str = "model.safetensors.index.json";

/// The largest file of JSON that is read: the largest tokenizers have 40 MB.
const LARGEST: u64 = 1 << 28;

/// Whether a file of this name in a folder may belong to a model.
pub(super) fn is_read(name: &str) -> bool {
    [CONFIG, INDEX, TOKENIZER].contains(&name) || name.ends_with(".safetensors")
}

/// Parses a file of JSON in a folder.
pub(super) fn json_file(path: &Path) -> sim::Result<Map<String, Value>> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let length = std::fs::metadata(path).map_err(io)?.len();
    if length > LARGEST {
        let problem = format!("has {length} bytes, read are files of up to {LARGEST}");
        return Err(Error::Data { path: path.to_owned(), problem });
    }
    let bytes =
        sim::files::read_regular(path).map_err(|e| Error::Data { path: path.to_owned(), problem: e.to_string() })?;
    json::object(path, &bytes, "the file")
}

/// The files of a folder, and which of them has which tensor.
struct Shards {
    folder: PathBuf,
    files: Vec<File>,
    by_name: BTreeMap<String, usize>,
}

impl Shards {
    fn open(folder: &Path) -> Result<Self> {
        let mut shards = Self { folder: folder.to_owned(), files: Vec::new(), by_name: BTreeMap::new() };
        let (index, whole) = (folder.join(INDEX), folder.join(WEIGHTS));
        if !index.exists() {
            if !whole.exists() {
                return Err(WrongRequest(without_weights(folder)).into());
            }
            shards.add(File::open(&whole)?)?;
            return Ok(shards);
        }
        ensure!(!whole.exists(), "{}: there are both {INDEX} and {WEIGHTS}, wanted is one of them", folder.display());
        let parsed = json_file(&index)?;
        let keys = json::Keys::new(&index, "", &parsed);
        let map = keys.needed("weight_map", keys.object("weight_map"))?;
        let mut names = BTreeSet::new();
        for (tensor, file) in map {
            let file = file.as_str().filter(|name| !name.contains(['/', '\\', '\0']) && !name.starts_with('.'));
            names.insert(
                file.with_context(|| format!("{}: tensor `{tensor}` is in no file of the folder", index.display()))?,
            );
        }
        for name in names {
            shards.add(File::open(&folder.join(name))?)?;
        }
        for (tensor, file) in map {
            let found = shards.by_name.get(tensor).map(|&at| shards.files[at].path().to_owned());
            let right = found.as_ref().is_some_and(|path| path.file_name().and_then(|n| n.to_str()) == file.as_str());
            ensure!(right, "{}: tensor `{tensor}` should be in {file}, which has no such tensor", index.display());
        }
        let stray = shards.by_name.keys().find(|name| !map.contains_key(*name));
        ensure!(stray.is_none(), "{}: the tensor {stray:?} of a file is not in the index", index.display());
        Ok(shards)
    }

    fn add(&mut self, file: File) -> Result<()> {
        for name in file.tensors() {
            let twice = self.by_name.insert(name.to_owned(), self.files.len());
            ensure!(twice.is_none(), "{}: tensor `{name}` is in another file, too", file.path().display());
        }
        self.files.push(file);
        Ok(())
    }

    fn file(&self, name: &str) -> Option<&File> {
        self.files.get(*self.by_name.get(name)?)
    }
}

/// What is wrong with a folder that has neither the weights nor an index of their files.
fn without_weights(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let count = |end: &str| names.iter().filter(|name| name.ends_with(end)).count();
    let place = folder.display();
    if count(".safetensors") > 0 {
        return format!("{place}: there are safetensors, but neither {WEIGHTS} nor {INDEX}, which says what is where");
    }
    let told = format!("{place}: there is neither {WEIGHTS} nor {INDEX}");
    if count(".bin") + count(".pt") + count(".pth") > 0 {
        return format!("{told}; weights of PyTorch must be saved as safetensors, as `save_pretrained` does");
    }
    told
}

impl Source for Shards {
    fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn tensors(&self) -> Vec<&str> {
        self.by_name.keys().map(String::as_str).collect()
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        self.file(name)?.shape(name)
    }

    fn read(&self, name: &str, shape: &[usize]) -> sim::Result<Elements> {
        let problem = || format!("there is no tensor `{name}`");
        let file = self.file(name).ok_or_else(|| Error::Data { path: self.folder.clone(), problem: problem() })?;
        file.elements_of(name, shape)
    }
}

/// How the tensors of a folder are stored, and their bytes.
pub(super) fn stored(folder: &Path) -> Result<Vec<(String, u64)>> {
    let shards = Shards::open(folder)?;
    Ok(shards.files.iter().flat_map(|file| file.tensors().filter_map(|name| file.stored(name))).collect())
}

impl Model {
    /// Reads all weights of a folder with `config.json` and safetensors: one file, or several with their index.
    ///
    /// # Errors
    /// A file is missing or damaged; the model is of another type, or has what is not supported; or a tensor is
    /// missing, unknown or of another shape.
    pub fn read_folder(folder: &Path, precision: Precision) -> Result<Self> {
        let path = folder.join(CONFIG);
        if !path.exists() {
            let place = folder.display();
            let told = format!(
                "{place}: there is no {CONFIG}; a model is a GGUF file, or a folder with {CONFIG}, {TOKENIZER} and {WEIGHTS}"
            );
            return Err(WrongRequest(told).into());
        }
        let config = json_file(&path)?;
        let shards = Shards::open(folder)?;
        let names: Vec<&str> = shards.tensors();
        let (config, layout) = config_json::read(&path, &config, &names)?;
        located(folder, tensors::read(&shards, config, &layout, precision))
    }
}
