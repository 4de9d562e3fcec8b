//! Where the weights are, and that they are the right ones.

use std::path::{Path, PathBuf};

use sim::{Cache, Error, Result};

use crate::gguf;

/// The file's name.
const NAME: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// SHA-256 of the file, as `scripts/data/weights` and the index of the committed tensors have it.
pub const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// Its BLAKE3, which is computed here: a wrong bit in a weight would change every figure and be seen in none.
const BLAKE3: &str = "5f4fa13bfc6dd4a91fd00e22974a9c4e9ed628fd7d7f307398ddf30260d6b2c3";

/// What to do about weights that are missing or wrong.
const REMEDY: &str = "`scripts/setup full` fetches it";

/// Where `scripts/data/weights` puts the file: in the cache of compiled models.
#[must_use]
pub fn path() -> PathBuf {
    Cache::User.root().join("weights").join(NAME)
}

/// Opens the weights after a look at each byte.
///
/// # Errors
/// The file is missing or damaged; the message says how to fetch it.
pub fn open() -> Result<gguf::File> {
    open_at(&path())
}

fn open_at(path: &Path) -> Result<gguf::File> {
    let bad = |problem: String| Error::Data { path: path.to_owned(), problem };
    let bytes =
        sim::files::read_regular(path).map_err(|e| bad(format!("the weights of SmolLM2-135M: {e}; {REMEDY}")))?;
    let found = blake3::hash(&bytes).to_hex();
    if found.as_str() != BLAKE3 {
        let problem =
            format!("its BLAKE3 is {found}, wanted is {BLAKE3}: not the weights of SmolLM2-135M, or damaged; {REMEDY}");
        return Err(bad(problem));
    }
    gguf::File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_wrong_files_name_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(NAME);
        let refused = |part: &str| {
            let error = open_at(&file).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(NAME) && error.contains("scripts/setup full"), "{error}");
        };
        refused("No such file");
        std::fs::write(&file, "GGUF").unwrap();
        refused("not the weights of SmolLM2-135M, or damaged");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        refused("no regular file");
    }
}
