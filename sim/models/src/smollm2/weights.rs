//! The place of the weights, and a check that they are the right ones.

use std::path::{Path, PathBuf};

use sim::Result;

use crate::fetched::Fetched;
use crate::gguf;

/// SHA-256 of the file, as in `scripts/data/weights` and in the index of the committed tensors.
pub const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

const FILE: Fetched = Fetched {
    name: "SmolLM2-135M-Instruct.Q4_1.gguf",
    what: "the weights of SmolLM2-135M",
    blake3: "5f4fa13bfc6dd4a91fd00e22974a9c4e9ed628fd7d7f307398ddf30260d6b2c3",
};

/// Where `scripts/data/weights` puts the file: in the cache of compiled models.
#[must_use]
pub fn path() -> PathBuf {
    FILE.path()
}

/// Opens the weights after a check of the hash.
///
/// # Errors
/// The file is missing or damaged; the message says how to fetch it.
pub fn open() -> Result<gguf::File> {
    open_at(&path())
}

fn open_at(path: &Path) -> Result<gguf::File> {
    FILE.read_at(path)?;
    gguf::File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_wrong_files_name_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE.name);
        let refused = |part: &str| {
            let error = open_at(&file).unwrap_err().to_string();
            assert!(
                error.contains(part) && error.contains(FILE.name) && error.contains("scripts/setup full"),
                "{error}"
            );
        };
        refused("No such file");
        std::fs::write(&file, "GGUF").unwrap();
        refused("not the weights of SmolLM2-135M, or damaged");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        refused("no regular file");
    }
}
