//! Results on disk, one file each. The name is a hash of everything that the result depends on.
//!
//! A file appears whole or not at all: it is written next to its place, then renamed. So any number of jobs on any
//! number of machines can share a folder, and a killed job leaves nothing half-written.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sim::held::{Aged, Held, Left, keep_newest};

use super::key::Key;
use super::stage::Stage;
use crate::catalogue::Params;
use crate::error::{Failure, Result};
use crate::flows::tools::Versions;
use crate::output::replace;

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All is well.
    Passed,
    /// The design did not pass; the message says why.
    Failed,
}

/// The result of one stage at one point.
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
    /// Results that are no numbers: modules, properties.
    pub details: Value,
    /// Versions of the tools that were used.
    pub tools: Versions,
    /// Wall time.
    pub seconds: f64,
}

/// What schemes find in a text. No block has a part in it, so it is no stage of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The name of this result.
    pub key: String,
    /// The schemes with their options.
    pub scheme: String,
    /// Figures by name; what is no finite number is a text.
    pub figures: Map<String, Value>,
    /// Wall time.
    pub seconds: f64,
}

/// The folder of [`Figures`], beside a folder for each stage.
const FIGURES: &str = "eval";

/// Where results are unless the user says otherwise.
pub const STORE: &str = "target/sweeps/store";

/// The setting for its size, in MiB: results beyond it go at the end of a sweep.
pub const STORE_LIMIT: &str = "SENBAZURU_STORE_LIMIT";

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
        self.file(key.stage.name(), &key.hash)
    }

    fn file(&self, folder: &str, hash: &str) -> PathBuf {
        self.root.join(folder).join(&hash[..2]).join(format!("{hash}.json"))
    }

    /// A result, if there is one. A file that cannot be understood, for example from another version, counts as absent.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn get(&self, key: &Key) -> Result<Option<StageResult>> {
        let result: Option<StageResult> = read(&self.path(key))?;
        Ok(result.filter(|r| r.key == key.hash && r.stage == key.stage))
    }

    /// Figures with this key, if they are there.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn figures(&self, key: &str) -> Result<Option<Figures>> {
        let found: Option<Figures> = read(&self.file(FIGURES, key))?;
        Ok(found.filter(|found| found.key == key))
    }

    /// Files a result.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn put(&self, result: &StageResult) -> Result<()> {
        write(&self.file(result.stage.name(), &result.key), result)
    }

    /// Files figures.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn put_figures(&self, found: &Figures) -> Result<()> {
        write(&self.file(FIGURES, &found.key), found)
    }

    /// The stored results, by folder: the name of a stage, or `eval`.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn held(&self) -> Result<BTreeMap<String, Held>> {
        let mut held = BTreeMap::<String, Held>::new();
        for (folder, entry) in self.results()? {
            held.entry(folder.to_owned()).or_default().add(entry.bytes);
        }
        Ok(held)
    }

    /// Removes results until at most `most` bytes are left. Results that nobody read for the longest time go first.
    ///
    /// # Errors
    /// A folder that cannot be read, a file that cannot be removed.
    pub fn shrink(&self, most: u64) -> Result<Left> {
        let all = self.results()?.into_iter().map(|(_, entry)| entry).collect();
        keep_newest(all, most, |entry| match fs::remove_file(&entry.what) {
            // Somebody else was faster.
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Failure::file("remove", &entry.what, &e)),
            _ => Ok(true),
        })
    }

    /// The files of results: the files with names that this store gives. A folder of anything else holds none.
    fn results(&self) -> Result<Vec<(&'static str, Aged<PathBuf>)>> {
        let mut all = Vec::new();
        for folder in Stage::ALL.map(Stage::name).into_iter().chain([FIGURES]) {
            for group in in_folder(&self.root.join(folder))? {
                for path in in_folder(&group)? {
                    let hash = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                    let ours = hash.len() == 32 && hash.bytes().all(|b| b.is_ascii_hexdigit());
                    if !ours || self.file(folder, hash) != path {
                        continue;
                    }
                    // A file that was removed in the meantime does not count.
                    let Ok(about) = fs::symlink_metadata(&path) else { continue };
                    if let (true, Ok(written)) = (about.is_file(), about.modified()) {
                        let used = about.accessed().map_or(written, |read| read.max(written));
                        all.push((folder, Aged { what: path, bytes: about.len(), used }));
                    }
                }
            }
        }
        Ok(all)
    }
}

/// A file of the store. One that cannot be understood counts as absent.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match sim::files::read_regular(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        // Something else of that name, a FIFO for example, will give way to the result.
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => Ok(None),
        Err(e) => Err(Failure::file("read", path, &e)),
    }
}

fn write<T: Serialize>(path: &Path, result: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(result).map_err(|e| Failure::Check(e.to_string()))?;
    replace(path, text.as_bytes())
}

/// The entries of a folder, which need not exist.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(e) => Err(Failure::file("read", folder, &e)),
        Ok(entries) => entries.map(|e| e.map(|e| e.path()).map_err(|e| Failure::file("read", folder, &e))).collect(),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn old_results_go_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("store"));
        assert_eq!(store.held().unwrap(), BTreeMap::new());
        let mut paths = Vec::new();
        for (age, stage) in [(3, Stage::Synth), (1, Stage::Sim), (2, Stage::Synth)] {
            let key = format!("{age:032x}");
            store.put(&StageResult { stage, key: key.clone(), ..result() }).unwrap();
            let path = store.file(stage.name(), &key);
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400 * age);
            let times = fs::FileTimes::new().set_accessed(then).set_modified(then);
            fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
            paths.push(path);
        }
        let key = format!("{:032x}", 9);
        let figures = Figures { key: key.clone(), scheme: "float".into(), figures: result().metrics, seconds: 0.5 };
        store.put_figures(&figures).unwrap();
        assert_eq!(store.figures(&key).unwrap(), Some(figures));
        assert_eq!(store.figures(&format!("{:032x}", 1)).unwrap(), None, "a result of a stage is no figures");
        let mine = store.root().join("synth/00/notes.json");
        fs::write(&mine, "mine").unwrap();
        let held = store.held().unwrap();
        assert_eq!(
            held.iter().map(|(name, held)| (name.as_str(), held.entries)).collect::<Vec<_>>(),
            [("eval", 1), ("sim", 1), ("synth", 2)]
        );
        let most = held["eval"].bytes + held["sim"].bytes + held["synth"].bytes / 2;
        assert_eq!(store.shrink(most).unwrap().removed.entries, 1);
        assert!(!paths[0].exists() && paths[1].exists() && paths[2].exists());
        assert_eq!(store.shrink(0).unwrap().removed.entries, 3);
        assert!(mine.exists() && paths.iter().all(|path| !path.exists()));
    }
}
