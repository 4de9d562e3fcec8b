//! Hashes the sources of testbenches, golden models and simulator: stored results of a co-simulation hold for these.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut hasher = blake3::Hasher::new();
    for folder in ["src", "../sim/src", "../sim/golden/src"] {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        add(&folder, &mut hasher)?;
    }
    println!("cargo::rustc-env=SENBAZURU_SOURCE_HASH={}", hasher.finalize().to_hex());
    Ok(())
}

/// Contents in the order of the names, which stand for themselves too; where the folder is does not matter.
fn add(folder: &Path, hasher: &mut blake3::Hasher) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        hasher.update(entry.file_name().as_encoded_bytes());
        if entry.file_type()?.is_dir() {
            add(&entry.path(), hasher)?;
        } else {
            hasher.update(&fs::read(entry.path())?);
        }
    }
    Ok(())
}
