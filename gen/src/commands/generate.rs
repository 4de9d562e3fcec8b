//! `gen`: Verilog, file list and manifest.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Targets;
use crate::error::{Failure, Result};
use crate::output::{self, Owner};
use crate::present::progress::Progress;
use crate::present::report;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Folder to write to [default: <top module>, or with --all verilog-out/<family>/<block>]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the Verilog instead of writing files
    #[arg(long, conflicts_with_all = ["output", "all", "check"])]
    stdout: bool,
    /// Write nothing; fail when the files there are not what would be written
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "stdout")]
    json: bool,
}

#[derive(Serialize)]
struct Generated {
    block: &'static str,
    top: String,
    folder: PathBuf,
    files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<Vec<String>>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let targets = args.targets.resolve()?;
    let progress = Progress::new(targets.len(), "generating");
    let mut done = Vec::new();
    for (entry, params) in &targets {
        let block = entry.about().name;
        progress.message(block);
        let design = entry.elaborate(params)?;
        if args.stdout {
            let text: Vec<_> = design.verilog().into_iter().map(|f| f.text).collect();
            return report::print(&text.join("\n"));
        }
        let files = output::files(&design)?;
        let (folder, owner) = match (&args.output, args.targets.all) {
            (Some(folder), false) => (folder.clone(), Owner::User),
            (None, false) => (PathBuf::from(design.top_name()), Owner::User),
            (_, true) => (args.root().join(entry.family()).join(block), Owner::Generator),
        };
        let stale = if args.check {
            Some(output::compare(&folder, &files, owner)?)
        } else {
            output::write(&folder, &files, owner)?;
            None
        };
        let files = files.into_iter().map(|f| f.name).collect();
        done.push(Generated { block, top: design.top_name().to_owned(), folder, files, stale });
        progress.step();
    }
    drop(progress);
    let orphans = if args.targets.all { orphans(args.root(), &done)? } else { Vec::new() };
    finish(args, &done, &orphans)
}

impl Args {
    fn root(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("verilog-out"))
    }
}

/// Folders `<family>/<block>` of blocks that are not in the catalogue any more.
fn orphans(root: &Path, done: &[Generated]) -> Result<Vec<PathBuf>> {
    let mut orphans = Vec::new();
    for family in output::folders(root)? {
        for block in output::folders(&family)? {
            if !done.iter().any(|g| g.folder == block) {
                orphans.push(block);
            }
        }
    }
    Ok(orphans)
}

fn finish(args: &Args, done: &[Generated], orphans: &[PathBuf]) -> Result<()> {
    let mut stale: Vec<String> = done.iter().filter_map(|g| g.stale.clone()).flatten().collect();
    // Nothing is written there, and a folder is the user's to remove.
    stale.extend(orphans.iter().map(|folder| format!("{} belongs to no block: remove it", folder.display())));
    if args.json {
        report::json(&done)?;
        return if stale.is_empty() { Ok(()) } else { Err(Failure::Reported) };
    }
    if !stale.is_empty() {
        let list: String = stale.iter().map(|line| format!("\n  {line}")).collect();
        let again = if args.targets.all { "; run `senbazuru gen --all`" } else { "" };
        return Err(Failure::Check(format!("the generated files are stale{again}:{list}")));
    }
    let line = |g: &Generated| {
        let what = if args.check { "fresh" } else { "written" };
        format!("{}: {} files {what} in {}\n", g.block, g.files.len(), g.folder.display())
    };
    report::print(&done.iter().map(line).collect::<String>())
}
