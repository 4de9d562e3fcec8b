//! `prove`: the registered proofs of a block, or one with given parameters.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::target::Targets;
use crate::catalogue::{Catalogue, Entry, Params, ProofRun};
use crate::error::{Failure, Result};
use crate::flows::lint::Sources;
use crate::flows::prove::{Kind, Options, Property, SOLVERS, Verdict, prove};
use crate::params::show;
use crate::point::MOST_CYCLES;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Cycles after reset that are checked exhaustively
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_CYCLES))]
    depth: Option<u32>,
    /// Cycles after reset within which covers must be reached [default: as --depth]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_CYCLES))]
    cover_depth: Option<u32>,
    /// Prove for all time as well, by induction (IC3, then k-induction)
    #[arg(long)]
    induction: bool,
    /// SMT solver
    #[arg(long, default_value = "z3", value_parser = SOLVERS.map(|s| s.0))]
    solver: String,
    /// Seconds after which a run of the solver is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Folder for the waveforms of counterexamples
    #[arg(short, long, value_name = "DIR", default_value = "target/waves")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Proved {
    block: &'static str,
    parameters: Params,
    depth: u32,
    cover_depth: u32,
    induction: bool,
    solver: String,
    seconds: f64,
    properties: Vec<Property>,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let mut work = Vec::new();
    for (entry, params) in args.targets.resolve(catalogue)? {
        for run in runs(args, &*entry, params)? {
            let sources = Sources::from(&entry.elaborate(&run.params)?);
            work.push((entry.about().name, run, sources));
        }
    }
    let progress = Progress::new(work.len(), "proving");
    let mut done = Vec::new();
    for (block, run, sources) in work {
        progress.message(format!("proving {}", sources.top));
        let options = Options {
            depth: run.depth,
            cover_depth: run.cover_depth,
            induction: run.induction,
            solver: args.solver.clone(),
            limit: Duration::from_secs(args.timeout),
            traces: args.output.clone(),
        };
        let start = Instant::now();
        let properties = prove(&sources, &options)?;
        done.push(Proved {
            block,
            parameters: run.params,
            depth: run.depth,
            cover_depth: run.cover_depth,
            induction: run.induction,
            solver: args.solver.clone(),
            seconds: start.elapsed().as_secs_f64(),
            properties,
        });
        progress.step();
    }
    drop(progress);
    if args.json {
        report::json(&done)?;
    } else if done.is_empty() {
        report::print("no block here has registered proofs\n")?;
    } else {
        report::print(&done.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    }
    let bad = || done.iter().flat_map(|p| &p.properties).map(|p| p.verdict).filter(|verdict| !verdict.is_good());
    match bad().next() {
        None => Ok(()),
        Some(_) if bad().all(|verdict| verdict == Verdict::Unknown) => {
            Err(Failure::NoAnswer("the solver gave no answer in time, see above".into()))
        }
        Some(_) => Err(Failure::Reported),
    }
}

/// The registered runs, unless the user gives parameters; `--depth` and `--induction` change either.
fn runs(args: &Args, entry: &dyn Entry, params: Params) -> Result<Vec<ProofRun>> {
    const DEPTH: u32 = 20;
    let mut runs = entry.proofs();
    if !args.targets.params.is_default() {
        runs = vec![ProofRun { params, depth: DEPTH, cover_depth: DEPTH, induction: false }];
    } else if runs.is_empty() && !args.targets.all {
        let name = entry.about().name;
        // Some blocks have properties only where they are small.
        for params in entry.configurations() {
            if Sources::from(&entry.elaborate(&params)?).has_formal() {
                return Err(Failure::Usage(format!(
                    "{name} has no registered proof; choose small parameters with --set"
                )));
            }
        }
        return Err(Failure::Usage(format!("{name} describes no properties: there is nothing to prove")));
    }
    for run in &mut runs {
        run.cover_depth = args.cover_depth.or(args.depth).unwrap_or(run.cover_depth);
        run.depth = args.depth.unwrap_or(run.depth);
        run.induction |= args.induction;
    }
    Ok(runs)
}

fn text(run: &Proved) -> String {
    let mut table = Table::new(["property", "result", "step", "counterexample"]);
    for p in &run.properties {
        let step = p.step.map(|s| s.to_string()).unwrap_or_default();
        let trace = p.trace.as_ref().map(|t| t.display().to_string()).unwrap_or_default();
        let depth = if p.kind == Kind::Cover { run.cover_depth } else { run.depth };
        table.row([p.name.clone(), verdict(p.verdict, depth), step, trace]);
    }
    let head = format!("{}: {}", run.block, show(&run.parameters));
    format!("{head}\n{} in {:.1} s\n\n{}", run.solver, run.seconds, report::table(&table))
}

fn verdict(verdict: Verdict, depth: u32) -> String {
    match verdict {
        Verdict::Holds => format!("holds for {depth} cycles after reset"),
        Verdict::Proved => "proved for all time by induction".into(),
        Verdict::NotInductive => {
            format!("NOT PROVED: holds for {depth} cycles, no induction found; try a larger --depth")
        }
        Verdict::Refuted => "REFUTED".into(),
        Verdict::Covered => "covered".into(),
        Verdict::Unreachable => format!("UNREACHABLE within {depth} cycles"),
        Verdict::Unknown => "NO ANSWER in time".into(),
    }
}
