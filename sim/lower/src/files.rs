//! A pass of a layer as files, for programs in other languages: bytes of memory, results, and a C header.
//!
//! | file | contents |
//! | --- | --- |
//! | `memory.bin` | pieces of memory before the start: weights, tables, rows, and the chain |
//! | `results.bin` | pieces of memory after the end: all bytes that the chain writes |
//! | `layer.h` | where all of this is, as constants and tables |

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use host::{Image, Window};

use crate::chain::Floats;
use crate::pass::Pass;

/// Pieces of memory and their bytes, one after the other.
pub const MEMORY: &str = "memory.bin";
/// Pieces of results and their bytes.
pub const RESULTS: &str = "results.bin";
/// The C header.
pub const HEADER: &str = "layer.h";

/// Writes a pass, whose accelerator may touch the memory of a window. `about` is a line of text on what it is. Returns
/// the bytes of all files.
///
/// # Errors
/// A file cannot be written; a piece that is longer than 4 GiB.
pub fn write(folder: &Path, pass: &Pass, window: &Window, about: &str) -> Result<usize> {
    let header = header(pass, window, about)?;
    let all = [(MEMORY, bytes(&pass.job.images)), (RESULTS, bytes(&pass.job.written)), (HEADER, header.into_bytes())];
    fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    for (name, bytes) in &all {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("{}", path.display()))?;
    }
    Ok(all.iter().map(|(_, bytes)| bytes.len()).sum())
}

fn bytes(images: &[Image]) -> Vec<u8> {
    images.iter().flat_map(|image| &image.bytes).copied().collect()
}

fn header(pass: &Pass, window: &Window, about: &str) -> Result<String> {
    let mut text =
        format!("/* {} */\n#ifndef LAYER_H\n#define LAYER_H\n\n#include <stdint.h>\n", about.replace("*/", ""));
    let mut value = |what: &str, name: &str, value: u64| -> Result<()> {
        writeln!(text, "\n/* {what} */\n#define LAYER_{name} UINT64_C({value:#x})")?;
        Ok(())
    };
    value("The first byte of the memory that the accelerator may touch.", "WINDOW_BASE", window.base)?;
    value("Its last byte.", "WINDOW_LIMIT", window.limit)?;
    value("The first descriptor of the chain: the register JOB.", "JOB", pass.job.address)?;
    value("Descriptors of the chain.", "DESCRIPTORS", pass.job.descriptors.into())?;
    for (name, what, Floats { at, rows, columns }) in
        [("INPUT", "before the layer", pass.input), ("OUTPUT", "after the layer", pass.out)]
    {
        value(&format!("The residual stream {what}, rows of fp16 numbers: the first byte."), name, at.address)?;
        value("Bytes from a row to the next.", &format!("{name}_STRIDE"), at.stride.into())?;
        value("Rows: tokens.", &format!("{name}_ROWS"), rows as u64)?;
        value("Numbers of a row.", &format!("{name}_COLUMNS"), columns as u64)?;
    }
    text.push_str("\n/* A piece of memory, and where its bytes begin in a file. */\n");
    text.push_str("struct layer_piece {\n  uint64_t address;\n  uint64_t offset;\n  uint32_t bytes;\n};\n");
    for (name, file, what, images) in [
        ("memory", MEMORY, "what is in memory before the start", &pass.job.images),
        ("results", RESULTS, "what the chain writes", &pass.job.written),
    ] {
        writeln!(text, "\n/* {file}: {what}. */")?;
        writeln!(text, "static const struct layer_piece layer_{name}[{}] = {{", images.len())?;
        let mut offset = 0;
        for image in images {
            let bytes = u32::try_from(image.bytes.len()).context("a piece of more than 4 GiB")?;
            writeln!(text, "  {{UINT64_C({:#x}), UINT64_C({offset}), {bytes}}},", image.address)?;
            offset += u64::from(bytes);
        }
        text.push_str("};\n");
    }
    text.push_str("\n#endif\n");
    Ok(text)
}
