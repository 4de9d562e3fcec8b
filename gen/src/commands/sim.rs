//! `sim`: co-simulation with the golden model.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sim::{BuildOptions, Mismatch, RunOptions, RunReport, SourceFile, Trace};

use super::coverage;
use super::target::Target;
use crate::catalogue::{Catalogue, Params};
use crate::error::{Failure, Result};
use crate::params::{plain, show};
use crate::present::progress::Progress;
use crate::present::report;
use crate::shell;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Number of test vectors; the block's testbench decides what a vector is
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    vectors: u64,
    /// Seed of all random numbers; the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Engine: native (compiled C of the design) or verilator (its Verilog) [default: SENBAZURU_ENGINE, else native;
    /// coverage and Verilog from outside run in Verilator]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<sim::Engine>,
    /// Write a waveform of the run, to FILE.vcd or FILE.fst, or to a name of its own under target/waves
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    trace: Option<Option<PathBuf>>,
    /// Measure line and toggle coverage of the Verilog
    #[arg(long)]
    coverage: bool,
    /// Simulate the Verilog files (*.v) of this folder instead of the generated ones: an edited design, a netlist
    #[arg(long, value_name = "DIR")]
    verilog: Option<PathBuf>,
    /// Drive the tensors (*.npy) of this folder instead of the bench's own vectors; `info` says which ones a block takes
    #[arg(long, value_name = "DIR", conflicts_with = "vectors")]
    tensors: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let (entry, params) = args.target.resolve(catalogue)?;
    if args.engine == Some(sim::Engine::Native) && (args.coverage || args.verilog.is_some()) {
        let what = "`--engine native` measures no coverage and reads no Verilog: leave it out";
        return Err(Failure::Usage(what.into()));
    }
    let trace = trace_format(args.trace.as_ref())?;
    let mut design = sim::Design::from(&entry.elaborate(&params)?);
    if let Some(folder) = &args.verilog {
        design.files = read_verilog(folder)?;
    }
    let (bench, vectors) = match &args.tensors {
        Some(folder) => entry.bench_of_tensors(&params, folder)?,
        None => (entry.bench(&params)?, args.vectors),
    };
    let options = RunOptions {
        seed: args.seed,
        vectors,
        coverage: args.coverage,
        trace,
        command: Some(repeat(args, &params)),
        build: BuildOptions { engine: args.engine, ..BuildOptions::default() },
        ..RunOptions::default()
    };
    let progress = Progress::new(1, format!("simulating {}", design.top));
    let result = sim::run(&*bench, &design, &options);
    drop(progress);
    match result {
        Ok(mut report) => {
            report.waveform = place(report.waveform, args)?;
            passed(args, &params, &design.top, &report)
        }
        Err(sim::Error::Mismatch(mut mismatch)) => {
            mismatch.waveform = place(mismatch.waveform, args)?;
            if !args.json {
                return Err(Failure::Check(mismatch.to_string()));
            }
            report::json(&failed(&mismatch))?;
            Err(Failure::Reported)
        }
        Err(other) => Err(other.into()),
    }
}

fn passed(args: &Args, params: &Params, top: &str, report: &RunReport) -> Result<()> {
    let coverage = report.coverage.as_ref();
    if args.json {
        let coverage = coverage.map(coverage::as_json);
        return report::json(&json!({
            "block": report.block, "parameters": params, "top": top, "passed": true,
            "seed": report.seed, "vectors": report.vectors, "cycles": report.cycles, "compared": report.compared,
            "input_stalls": report.input_stalls, "output_stalls": report.output_stalls,
            "seconds": report.seconds, "cycles_per_second": report.cycles_per_second(),
            "waveform": report.waveform, "coverage": coverage,
        }));
    }
    let mut lines = vec![
        format!("{}: hardware and golden model agree", report.block),
        format!("  parameters  {}", show(params)),
        format!("  seed        {}", report.seed),
        format!("  vectors     {}, {} values compared", report.vectors, report.compared),
        format!("  cycles      {}, {:.0} a second", report.cycles, report.cycles_per_second()),
        format!("  stalls      {} at inputs, {} at outputs", report.input_stalls, report.output_stalls),
    ];
    if let Some(path) = &report.waveform {
        lines.push(format!("  waveform    {}", path.display()));
    }
    if let Some(c) = coverage {
        lines.extend(coverage::lines(c));
    }
    report::print(&(lines.join("\n") + "\n"))
}

fn failed(mismatch: &Mismatch) -> Value {
    json!({
        "block": mismatch.block, "parameters": mismatch.parameters, "passed": false, "seed": mismatch.seed,
        "cycle": mismatch.cycle, "report": mismatch.to_string(), "command": mismatch.command,
        "waveform": mismatch.waveform, "waveform_note": mismatch.waveform_note,
    })
}

fn trace_format(trace: Option<&Option<PathBuf>>) -> Result<Trace> {
    let Some(file) = trace else { return Ok(Trace::Off) };
    let Some(file) = file else { return Ok(Trace::Vcd) };
    // Known before anything is compiled.
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty());
    if let Some(missing) = folder.filter(|f| !f.is_dir()) {
        return Err(Failure::Usage(format!("--trace {}: there is no folder {}", file.display(), missing.display())));
    }
    if file.is_dir() {
        return Err(Failure::Usage(format!("--trace {}: that is a folder", file.display())));
    }
    match file.extension().and_then(|e| e.to_str()) {
        Some("vcd") => Ok(Trace::Vcd),
        Some("fst") => Ok(Trace::Fst),
        _ => Err(Failure::Usage(format!("--trace {}: the name must end in .vcd or .fst", file.display()))),
    }
}

/// Brings the waveform to where the user wants it.
fn place(waveform: Option<PathBuf>, args: &Args) -> Result<Option<PathBuf>> {
    let (Some(from), Some(Some(to))) = (&waveform, &args.trace) else { return Ok(waveform) };
    // The folders may be on different file systems, so no rename.
    fs::copy(from, to).map_err(|e| Failure::file("write", to, &e))?;
    let _ = fs::remove_file(from);
    Ok(Some(to.clone()))
}

fn read_verilog(folder: &Path) -> Result<Vec<SourceFile>> {
    let failed = |e| Failure::file("read", folder, &e);
    let mut files = Vec::new();
    for item in fs::read_dir(folder).map_err(failed)? {
        let path = item.map_err(failed)?.path();
        if path.extension().is_some_and(|e| e == "v") {
            let text = fs::read_to_string(&path).map_err(|e| Failure::file("read", &path, &e))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push(SourceFile { name, text });
        }
    }
    if files.is_empty() {
        return Err(Failure::Usage(format!("{} holds no Verilog file (*.v)", folder.display())));
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// The command that repeats a run, in this program and on the user's own files.
fn repeat(args: &Args, params: &Params) -> String {
    let mut words = vec![shell::program().to_owned(), "sim".into(), args.target.block.clone()];
    words.extend(params.iter().flat_map(|(name, value)| ["--set".into(), format!("{name}={}", plain(value))]));
    words.extend(["--seed".into(), args.seed.to_string()]);
    words.extend(match &args.tensors {
        Some(folder) => ["--tensors".into(), folder.display().to_string()],
        None => ["--vectors".into(), args.vectors.to_string()],
    });
    words.extend(args.verilog.iter().flat_map(|folder| ["--verilog".into(), folder.display().to_string()]));
    words.push("--trace".into());
    shell::line(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that failed on a user's tensors is repeated on them.
    #[test]
    fn the_command_that_repeats_a_run() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        let params = Params::from_iter([("n".to_owned(), Value::from(4))]);
        let repeated = |words: &[&str]| {
            let line = <Line as clap::Parser>::parse_from([&["sim", "orizuru"], words].concat());
            repeat(&line.args, &params)
        };
        let sim = format!("{} sim orizuru --set n=4", shell::program());
        let vectors = format!("{sim} --seed 3 --vectors 1000 --verilog rtl --trace");
        assert_eq!(repeated(&["--seed", "3", "--verilog", "rtl"]), vectors);
        let tensors = format!("{sim} --seed 1 --tensors 'my data' --trace");
        assert_eq!(repeated(&["--tensors", "my data"]), tensors);
    }
}
