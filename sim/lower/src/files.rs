//! Passes of a layer as files, for programs in other languages: bytes of memory, results, and a C header.
//!
//! | file | contents |
//! | --- | --- |
//! | `memory.bin` | pieces of memory before each start: weights, tables, rows, and the chain |
//! | `results.bin` | pieces of memory after each pass: all bytes that its chains write |
//! | `layer.h` | where all of this is, as constants and tables, and bytes that the host moves between chains |

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use host::{Image, Window};
use sim::folders;

use crate::chain::Floats;
use crate::pass::{Pass, Rows};
use crate::whole::{DecoderModel, Golden, Move, Recorded, Recorder};

/// Pieces of memory and their bytes, one after the other.
pub const MEMORY: &str = "memory.bin";
/// Pieces of results and their bytes.
pub const RESULTS: &str = "results.bin";
/// The C header.
pub const HEADER: &str = "layer.h";

/// The beginning of each header, after its first comment.
const GUARD: &str = "#ifndef LAYER_H\n#define LAYER_H\n";

/// A program need not use every table.
const TABLE: &str = "
/* What a table is declared as: a program need not use all tables. */
#if defined(__GNUC__)
#define LAYER_TABLE static const __attribute__((unused))
#else
#define LAYER_TABLE static const
#endif
";

/// What the files are among folders.
const FOLDER: folders::Kind = folders::Kind { name: "a layer that `lower` wrote", is_one: is_layer };

/// Refuses a folder that [`Contents::write`] would refuse.
///
/// # Errors
/// The folder has other things in it, or cannot be made.
pub fn check_place(folder: &Path) -> Result<()> {
    folders::check(folder, FOLDER).with_context(|| folder.display().to_string())
}

/// Whether a folder has the files of a layer, and nothing else is in it.
fn is_layer(folder: &Path) -> bool {
    let all = [MEMORY, RESULTS, HEADER];
    let count = fs::read_dir(folder).map_or(0, Iterator::count);
    let are_files = all.iter().all(|name| fs::symlink_metadata(folder.join(name)).is_ok_and(|file| file.is_file()));
    // A header is text, and its comment is short.
    let is_header = || fs::read_to_string(folder.join(HEADER)).is_ok_and(|text| text.contains(GUARD));
    count == all.len() && are_files && is_header()
}

/// A pass of tokens: its jobs one after the other, and their results.
#[derive(Clone, Debug)]
pub struct Step {
    /// Each with what the host does before it.
    pub jobs: Vec<Recorded>,
    /// All bytes that the jobs write, as they are at the end of the pass.
    pub written: Vec<Image>,
    /// The residual stream before the layer.
    pub input: Floats,
    /// The same after the layer.
    pub out: Floats,
}

impl Step {
    fn of(Pass { job, input, out, .. }: &Pass) -> Self {
        let recorded = Recorded {
            images: job.images.clone(),
            moves: Vec::new(),
            address: job.address,
            descriptors: job.descriptors,
        };
        Self { jobs: vec![recorded], written: job.written.clone(), input: *input, out: *out }
    }
}

/// Passes of a layer, one after the other: the prompts of its texts, then tokens that follow.
#[derive(Clone, Debug)]
pub struct Contents {
    /// At least one.
    pub passes: Vec<Step>,
    /// Words of results with a number that was saturated, or is infinite or none.
    pub overflows: u64,
}

impl Contents {
    /// Passes of a layer that has an accelerator of its own, from the first one on.
    #[must_use]
    pub fn of_passes(passes: &[Pass], overflows: u64) -> Self {
        Self { passes: passes.iter().map(Step::of).collect(), overflows }
    }

    /// Passes of the rows of some texts through what `load` puts into the memory of an accelerator, which is empty.
    ///
    /// # Errors
    /// The errors of `load` and of the passes.
    pub fn of_rows(
        golden: &mut dyn Golden,
        load: impl FnOnce(&mut Recorder<'_>) -> Result<Box<dyn DecoderModel>>,
        passes: &[Vec<(usize, Rows)>],
    ) -> Result<Self> {
        let mut recorder = Recorder::new(golden);
        let mut model = load(&mut recorder)?;
        let mut overflows = 0;
        let mut step = |texts: &Vec<(usize, Rows)>| -> Result<Step> {
            let rows = || texts.iter().flat_map(|(_, rows)| rows);
            let columns = rows().next().map_or(0, Vec::len);
            let stream = Floats { at: model.residual(), rows: rows().count(), columns };
            model.pass(&mut recorder, (texts, false), &mut |spent| {
                overflows += spent.overflows;
                Ok(())
            })?;
            let (jobs, written) = recorder.take()?;
            Ok(Step { jobs, written, input: stream, out: stream })
        };
        let passes = passes.iter().map(&mut step).collect::<Result<_>>()?;
        Ok(Self { passes, overflows })
    }

    /// The jobs of all passes.
    pub fn jobs(&self) -> impl Iterator<Item = &Recorded> {
        self.passes.iter().flat_map(|pass| &pass.jobs)
    }

    /// Descriptors of all jobs.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        self.jobs().map(|job| u64::from(job.descriptors)).sum()
    }

    fn images(&self) -> impl Iterator<Item = &Image> {
        self.jobs().flat_map(|job| &job.images)
    }

    fn written(&self) -> impl Iterator<Item = &Image> {
        self.passes.iter().flat_map(|pass| &pass.written)
    }

    /// Writes the files of an accelerator that may touch the memory of a window. `about` are lines of text: the first one
    /// says what it is, the others what it was made of. The folder appears as a whole, and may take the place of an
    /// earlier one. Returns the bytes of all files.
    ///
    /// # Errors
    /// The errors of [`check_place`]; the system cannot write; a piece that is longer than 4 GiB; a pass of no job, or no
    /// pass.
    pub fn write(&self, folder: &Path, window: &Window, about: &[String]) -> Result<usize> {
        let (memory, results) = (bytes(self.images()), bytes(self.written()));
        let header = self.header(window, about, [&memory, &results])?;
        let all = [(MEMORY, &memory[..]), (RESULTS, &results), (HEADER, header.as_bytes())];
        folders::write(folder, FOLDER, &all).with_context(|| folder.display().to_string())
    }

    fn header(&self, window: &Window, about: &[String], [memory, results]: [&[u8]; 2]) -> Result<String> {
        ensure!(self.passes.iter().all(|pass| !pass.jobs.is_empty()), "a pass of no job");
        let Some(first) = self.passes.first() else { bail!("no pass") };
        // What a line quotes must not end the comment.
        let about: Vec<String> = about.iter().map(|line| line.replace("*/", "").replace(['\n', '\r'], " ")).collect();
        let mut text = format!("/* {} */\n{GUARD}\n#include <stdint.h>\n", about.join("\n * "));
        let mut value = |what: &str, name: &str, value: u64| -> Result<()> {
            writeln!(text, "\n/* {what} */\n#define LAYER_{name} UINT64_C({value:#x})")?;
            Ok(())
        };
        value("The first byte of the memory that the accelerator may touch.", "WINDOW_BASE", window.base)?;
        value("Its last byte.", "WINDOW_LIMIT", window.limit)?;
        value("Numbers of a row of the residual stream, fp16.", "COLUMNS", first.input.columns as u64)?;
        for (name, file, bytes) in [("MEMORY", MEMORY, memory), ("RESULTS", RESULTS, results)] {
            writeln!(text, "\n/* {file}: its bytes, and their BLAKE3. */")?;
            writeln!(text, "#define LAYER_{name}_BYTES UINT64_C({})", bytes.len())?;
            writeln!(text, "#define LAYER_{name}_BLAKE3 \"{}\"", blake3::hash(bytes).to_hex())?;
        }
        text.push_str(TABLE);
        text.push_str("\n/* A piece of memory, and where its bytes begin in a file. */\n");
        text.push_str("struct layer_piece {\n  uint64_t address;\n  uint64_t offset;\n  uint32_t bytes;\n};\n");
        pieces(&mut text, ("memory", MEMORY, "what is in memory before the starts"), self.images())?;
        pieces(&mut text, ("results", RESULTS, "what the chains of each pass write"), self.written())?;
        let moves: Vec<&Move> = self.jobs().flat_map(|job| &job.moves).collect();
        text.push_str(
            "\n/* Bytes that the host moves: the first one and its place, and the steps to the next ones. */\n",
        );
        text.push_str("struct layer_move {\n  uint64_t from;\n  uint64_t to;\n");
        text.push_str("  uint32_t from_step;\n  uint32_t to_step;\n  uint32_t bytes;\n};\n");
        // A table in C has an entry.
        writeln!(text, "\nLAYER_TABLE struct layer_move layer_moves[{}] = {{", moves.len().max(1))?;
        for Move { from, to, count } in &moves {
            let (from, from_step) = from;
            let (to, to_step) = to;
            writeln!(text, "  {{UINT64_C({from:#x}), UINT64_C({to:#x}), {from_step}, {to_step}, {count}}},")?;
        }
        if moves.is_empty() {
            text.push_str("  {0, 0, 0, 0, 0},\n");
        }
        text.push_str("};\n\n/* A job: the register JOB, and the descriptors of its chain. The next pieces of memory are written\n");
        text.push_str(" * before it, and then the next moves are made. */\n");
        text.push_str("struct layer_job {\n  uint64_t address;\n  uint32_t descriptors;\n");
        text.push_str("  uint32_t pieces;\n  uint32_t moves;\n};\n");
        writeln!(text, "\nLAYER_TABLE struct layer_job layer_jobs[{}] = {{", self.jobs().count())?;
        for Recorded { images, moves, address, descriptors } in self.jobs() {
            let (pieces, moves) = (images.len(), moves.len());
            writeln!(text, "  {{UINT64_C({address:#x}), {descriptors}, {pieces}, {moves}}},")?;
        }
        text.push_str("};\n\n/* A pass of tokens: the residual stream before and after the layer, the bytes from a row to the next, and\n");
        text.push_str(" * the rows, which are tokens. The next jobs belong to it. The next pieces of results are there after it. */\n");
        text.push_str("struct layer_pass {\n  uint64_t input;\n  uint64_t output;\n  uint32_t input_stride;\n");
        text.push_str("  uint32_t output_stride;\n  uint32_t rows;\n  uint32_t jobs;\n  uint32_t results;\n};\n");
        writeln!(text, "\nLAYER_TABLE struct layer_pass layer_passes[{}] = {{", self.passes.len())?;
        for Step { jobs, written, input, out } in &self.passes {
            let (rows, jobs, results) = (input.rows, jobs.len(), written.len());
            let places = format!("UINT64_C({:#x}), UINT64_C({:#x})", input.at.address, out.at.address);
            let strides = format!("{}, {}", input.at.stride, out.at.stride);
            writeln!(text, "  {{{places}, {strides}, {rows}, {jobs}, {results}}},")?;
        }
        text.push_str("};\n\n#endif\n");
        Ok(text)
    }
}

fn bytes<'a>(images: impl IntoIterator<Item = &'a Image>) -> Vec<u8> {
    images.into_iter().flat_map(|image| &image.bytes).copied().collect()
}

/// The table of pieces of a file.
fn pieces<'a>(
    text: &mut String,
    (name, file, what): (&str, &str, &str),
    images: impl Iterator<Item = &'a Image>,
) -> Result<()> {
    let (mut offset, mut rows, mut count) = (0, String::new(), 0);
    for image in images {
        let bytes = u32::try_from(image.bytes.len()).context("a piece of more than 4 GiB")?;
        writeln!(rows, "  {{UINT64_C({:#x}), UINT64_C({offset}), {bytes}}},", image.address)?;
        offset += u64::from(bytes);
        count += 1;
    }
    writeln!(text, "\n/* {file}: {what}. */")?;
    writeln!(text, "LAYER_TABLE struct layer_piece layer_{name}[{count}] = {{\n{rows}}};")?;
    Ok(())
}
