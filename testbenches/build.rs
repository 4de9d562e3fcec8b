//! Hashes the sources of testbenches, golden models and simulator: stored results of a co-simulation hold for these.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut hasher = blake3::Hasher::new();
    for folder in ["src", "../sim/src", "../sim/golden/src", "../sim/host/src", "../sim/host/include"] {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        add(&folder, &mut hasher)?;
    }
    println!("cargo::rustc-env=SENBAZURU_SOURCE_HASH={}", hasher.finalize().to_hex());
    documented_block(&root.join("../docs/adding-a-block.md"))
}

/// The files of the documented block, for a test that builds and runs them (`tests/lang/adding_a_block.rs`). A file is a fence
/// behind a line that ends with its name. What a file calls the crates that it would stand in becomes the test's modules.
fn documented_block(page: &Path) -> io::Result<()> {
    const NAMES: [(&str, &str); 5] = [
        ("use crate::lang", "use hdl::lang"),
        ("hdl::blocks::common::SatAccumulator", "super::hardware::SatAccumulator"),
        ("golden::common::sat_accumulator::", "super::model::"),
        ("testbenches::common::sat_accumulator::bench", "super::testbench::bench"),
        (" crate::bench(", " sim::kit::bench("),
    ];
    println!("cargo::rerun-if-changed={}", page.display());
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("adding-a-block");
    fs::create_dir_all(&folder)?;
    let page = fs::read_to_string(page)?;
    let mut name = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some((path, _)) = line.rsplit_once("`:").filter(|(path, _)| path.ends_with(".rs")) {
            name = path.rsplit('`').next().unwrap_or_default();
        } else if line == "```rust" && !name.is_empty() {
            let text: Vec<&str> =
                lines.by_ref().take_while(|l| *l != "```").filter(|l| !l.starts_with("//!")).collect();
            let mut text = text.join("\n");
            NAMES.iter().for_each(|(from, to)| text = text.replace(from, to));
            fs::write(folder.join(name.replace('/', "-")), text)?;
            name = "";
        }
    }
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
