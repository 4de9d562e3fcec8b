//! Results on disk, one file each, named by what they depend on.
//!
//! A file appears whole or not at all (written beside its place, then renamed), so any number of jobs on any number of
//! machines share a folder, and a job that is killed leaves nothing half-written.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Key, Stage};
use crate::error::{Failure, Result};
use crate::flows::tools::Versions;
use crate::output::replace;
use crate::registry::Params;

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All is well.
    Passed,
    /// The design did not pass; the message says why.
    Failed,
}

/// What one stage found at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageResult {
    /// Stage.
    pub stage: Stage,
    /// The name of this result.
    pub key: String,
    /// Block.
    pub block: String,
    /// All parameters.
    pub parameters: Params,
    /// Top module.
    pub top: String,
    /// How it ended.
    pub status: Status,
    /// Why it failed.
    pub message: Option<String>,
    /// Numbers, by name; units are in the names and in the documentation.
    pub metrics: Map<String, Value>,
    /// What is no number: modules, properties.
    pub details: Value,
    /// Versions of the tools that were used.
    pub tools: Versions,
    /// Wall time.
    pub seconds: f64,
}

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store in `root`, which is made when a result comes.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a result is or will be.
    #[must_use]
    pub fn path(&self, key: &Key) -> PathBuf {
        self.file(key.stage, &key.hash)
    }

    fn file(&self, stage: Stage, hash: &str) -> PathBuf {
        self.root.join(stage.name()).join(&hash[..2]).join(format!("{hash}.json"))
    }

    /// A result, if there is one. What cannot be understood, for example from another version, counts as absent.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn get(&self, key: &Key) -> Result<Option<StageResult>> {
        let path = self.path(key);
        match sim::files::read_regular(&path) {
            Ok(bytes) => {
                let result: Option<StageResult> = serde_json::from_slice(&bytes).ok();
                Ok(result.filter(|r| r.key == key.hash && r.stage == key.stage))
            }
            // Something else of that name, a FIFO for example, will give way to the result.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => Ok(None),
            Err(e) => Err(Failure::file("read", &path, &e)),
        }
    }

    /// Files a result.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn put(&self, result: &StageResult) -> Result<()> {
        let path = self.file(result.stage, &result.key);
        let text = serde_json::to_string_pretty(result).map_err(|e| Failure::Check(e.to_string()))?;
        replace(&path, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sim::process::Tool;

    use super::*;

    fn result() -> StageResult {
        StageResult {
            stage: Stage::Synth,
            key: "0123456789abcdef0123456789abcdef".into(),
            block: "mac_mesh".into(),
            parameters: Params::new(),
            top: "mac_mesh".into(),
            status: Status::Passed,
            message: None,
            metrics: Map::from_iter([("gates".to_owned(), Value::from(3))]),
            details: Value::Null,
            tools: Versions::new(),
            seconds: 0.5,
        }
    }

    #[test]
    fn what_was_filed_is_found_and_rubbish_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let key = Key { stage: result().stage, hash: result().key, tools: Versions::new() };
        assert_eq!(store.get(&key).unwrap(), None);
        store.put(&result()).unwrap();
        assert_eq!(store.get(&key).unwrap(), Some(result()));
        fs::write(store.path(&key), "{ half").unwrap();
        assert_eq!(store.get(&key).unwrap(), None);
        // Reading a FIFO would wait for a writer for ever.
        fs::remove_file(store.path(&key)).unwrap();
        assert!(Tool::new("mkfifo").arg(store.path(&key)).run().unwrap().success());
        assert_eq!(store.get(&key).unwrap(), None);
        store.put(&result()).unwrap();
        assert_eq!(store.get(&key).unwrap(), Some(result()));
    }
}
