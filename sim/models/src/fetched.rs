//! Files that `scripts/data/weights` fetches: where they are, and that they are the right ones.

use std::path::{Path, PathBuf};

use sim::{Cache, Error, Result};

/// The remedy for files that are missing or damaged.
const REMEDY: &str = "`scripts/setup full` fetches it";

/// A file in the cache of compiled models.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched {
    /// Its name.
    pub name: &'static str,
    /// Its content, for messages.
    pub what: &'static str,
    /// Its BLAKE3, which is checked here. A wrong bit in a weight would change every figure, and nobody would see it.
    pub blake3: &'static str,
}

impl Fetched {
    /// Where the script puts it.
    pub fn path(&self) -> PathBuf {
        Cache::User.root().join("weights").join(self.name)
    }

    /// All bytes, after a check of the hash.
    ///
    /// # Errors
    /// The file is missing or damaged; the message says how to fetch it.
    pub fn read(&self) -> Result<Vec<u8>> {
        self.read_at(&self.path())
    }

    pub fn read_at(&self, path: &Path) -> Result<Vec<u8>> {
        let Self { what, blake3, .. } = self;
        let bad = |problem: String| Error::Data { path: path.to_owned(), problem };
        let bytes = sim::files::read_regular(path).map_err(|e| bad(format!("{what}: {e}; {REMEDY}")))?;
        let found = blake3::hash(&bytes).to_hex();
        if found.as_str() != *blake3 {
            let problem = format!("its BLAKE3 is {found}, wanted is {blake3}: not {what}, or damaged; {REMEDY}");
            return Err(bad(problem));
        }
        Ok(bytes)
    }
}
