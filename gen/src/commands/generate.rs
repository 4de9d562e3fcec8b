//! `gen`: Verilog, file lists and manifests.

use std::path::{Path, PathBuf};

use hdl::lang::Design;
use serde_json::json;

use super::target::Targets;
use crate::catalogue::Catalogue;
use crate::error::{Failure, Result, tell};
use crate::output::{Bundle, Earlier, Layout, Package};
use crate::point;
use crate::present::progress::Progress;
use crate::present::report;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Folder to write to [default: the name of the top module; with --all verilog-out, with all modules in one folder]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the Verilog instead of writing files
    #[arg(long, conflicts_with_all = ["output", "check", "prune"])]
    stdout: bool,
    /// Write nothing; fail when the files in the folder differ from the ones that would be written
    #[arg(long, conflicts_with = "prune")]
    check: bool,
    /// Remove files from the folder that earlier runs wrote and this run does not write
    #[arg(long)]
    prune: bool,
    /// Also write files for other flows: FuseSoC core, EDAM, cocotb test with Makefile, SDC; only for one block
    #[arg(long, conflicts_with_all = ["all", "stdout"])]
    package: bool,
    /// Name of the top module, instead of the one that follows from the parameters; only for one block
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    top: Option<String>,
    /// Prefix of all module names, so that they cannot clash with modules of another generator
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Clock period of the package, in ns
    #[arg(long, value_name = "NS", requires = "package", default_value = "10", value_parser = point::period)]
    period: f64,
    /// Print JSON
    #[arg(long, conflicts_with = "stdout")]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let targets = args.targets.resolve(catalogue)?;
    let layout = if args.targets.all && !args.stdout { Layout::Library } else { Layout::Flat };
    let mut bundle = Bundle::new(layout);
    if args.package && targets.len() > 1 {
        return Err(Failure::Usage("--package goes with one block, as its Makefile and tests do: name one".into()));
    }
    if args.top.is_some() && targets.len() > 1 {
        return Err(Failure::Usage("--top goes with one block: name one, or give all modules a --prefix".into()));
    }
    let progress = Progress::new(targets.len(), "generating");
    for (entry, params) in &targets {
        let block = entry.about().name;
        progress.message(block);
        let design = args.named(entry.elaborate(params)?)?;
        bundle.add(entry.family(), block, &design)?;
        if args.package {
            let package = Package { period: args.period };
            bundle.add_package(entry.family(), &entry.about(), &design, &package)?;
        }
        progress.step();
    }
    drop(progress);
    if args.stdout {
        return report::print(&bundle.verilog().join("\n"));
    }
    let folder = args.folder(&bundle)?;
    let mut earlier = Earlier::find(&folder, &bundle)?;
    let mut removed = 0;
    let stale = if args.check {
        let mut stale = bundle.compare(&folder)?;
        // In a user's folder, other designs may stay.
        let left: Vec<_> = if layout == Layout::Library { earlier.stale.iter().collect() } else { earlier.orphans() };
        stale.extend(left.into_iter().map(|p| format!("{} is not generated any more", folder.join(p).display())));
        stale
    } else if args.prune || layout == Layout::Library {
        // A library belongs to the generator.
        let foreign = Earlier { foreign: earlier.foreign.clone(), ..Earlier::default() };
        bundle.write(&folder, &foreign)?;
        removed = earlier.remove(&folder)?;
        Vec::new()
    } else {
        bundle.write(&folder, &earlier)?;
        Vec::new()
    };
    finish(args, &bundle, &folder, stale, removed, &earlier)
}

impl Args {
    /// The design with the names that the user gives.
    fn named(&self, mut design: Design) -> Result<Design> {
        if let Some(prefix) = &self.prefix {
            design = design.with_prefix(prefix).map_err(|e| Failure::Usage(format!("--prefix: {e}")))?;
        }
        if let Some(top) = &self.top {
            design = design.with_top_name(top).map_err(|e| Failure::Usage(format!("--top: {e}")))?;
        }
        Ok(design)
    }

    fn folder(&self, bundle: &Bundle) -> Result<PathBuf> {
        match (&self.output, bundle.layout(), bundle.designs()) {
            (Some(folder), ..) => Ok(folder.clone()),
            (None, Layout::Library, _) => Ok("verilog-out".into()),
            (None, Layout::Flat, [one]) => Ok(PathBuf::from(&one.top)),
            (None, Layout::Flat, _) => {
                Err(Failure::Usage("several blocks share a folder: say which, with -o DIR".into()))
            }
        }
    }
}

fn finish(
    args: &Args,
    bundle: &Bundle,
    folder: &Path,
    mut stale: Vec<String>,
    removed: usize,
    earlier: &Earlier,
) -> Result<()> {
    // It is not ours to remove.
    let foreign = earlier.foreign.iter().map(|p| folder.join(p));
    stale.extend(foreign.map(|p| format!("{} is not from here: move it elsewhere, or remove it", p.display())));
    if args.json {
        let others: Vec<_> = earlier.others.keys().collect();
        report::json(&json!({
            "folder": folder, "designs": bundle.designs(), "stale": stale, "removed": removed,
            "others": others, "orphans": earlier.orphans(),
        }))?;
        return if stale.is_empty() { Ok(()) } else { Err(Failure::Reported) };
    }
    if !stale.is_empty() {
        let list: String = stale.iter().map(|line| format!("\n  {line}")).collect();
        let again = if args.targets.all { "; run `senbazuru gen --all`" } else { "" };
        return Err(Failure::Check(format!("the generated files are stale{again}:{list}")));
    }
    let what = if args.check { "fresh" } else { "written" };
    let mut text = String::new();
    for design in bundle.designs() {
        text += &format!("{}: {} files {what} in {}\n", design.block, design.files.len(), folder.display());
    }
    if bundle.designs().len() > 1 {
        text += &format!("{} files in all: what several blocks use is there once\n", bundle.files().len());
    }
    if removed > 0 {
        text += &format!("{removed} files of earlier runs removed\n");
    }
    report::print(&text)?;
    mention(folder, earlier);
    Ok(())
}

/// Files that an earlier run left are no error, and a user may want them. The command tells of them.
fn mention(folder: &Path, earlier: &Earlier) {
    let orphans = earlier.orphans();
    let names = |list: &mut dyn Iterator<Item = String>| list.collect::<Vec<_>>().join(", ");
    let mut left = Vec::new();
    if !earlier.others.is_empty() {
        let tops = &mut earlier.others.keys().map(|name| name.trim_end_matches(".json").to_owned());
        left.push(format!("the design {}", names(tops)));
    }
    if !orphans.is_empty() {
        left.push(format!("without a design {}", names(&mut orphans.iter().map(|p| p.display().to_string()))));
    }
    if !left.is_empty() {
        let (folder, left) = (folder.display(), left.join("; "));
        tell(&format!("note: {folder} also holds what an earlier run wrote: {left}; --prune removes that"));
    }
}
