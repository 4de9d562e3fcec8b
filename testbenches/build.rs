//! Takes the block of docs/adding-a-block.md apart, for a test that builds and runs it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let page =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../docs/adding-a-block.md");
    // The page is not part of the package.
    if page.is_file() { documented_block(&page) } else { Ok(()) }
}

/// The files of the documented block, for a test that builds and runs them (`tests/lang/adding_a_block.rs`). A file is
/// a fence after a line that ends with its name. Paths of the crates in which a file would stand become the test's
/// modules.
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
