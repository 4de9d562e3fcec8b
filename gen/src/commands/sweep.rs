//! `sweep`: every combination of parameters of a file.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sim::held::limit;

use crate::catalogue::Catalogue;
use crate::engine::{Engine, Job, Local, Lost, Slurm};
use crate::error::{Failure, Result};
use crate::params::show_changes;
use crate::point::{STORE, STORE_LIMIT, Store};
use crate::present::progress::Progress;
use crate::present::report;
use crate::shell::{self, Program};
use crate::sweep::{self, Plan, PointResult, Results, Spec, arguments, collect};

/// Where the points run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EngineName {
    /// On this machine
    Local,
    /// As job arrays of the Slurm cluster that this machine is part of
    Slurm,
    /// Nowhere: print one command a line, for GNU parallel, make or another scheduler
    Print,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Description of the sweep, see docs/sweeps.md
    file: PathBuf,
    /// Folder for the results [default: target/sweeps/<name of the file>, with --small <name>-small]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Folder of stored results, shared by all sweeps; stages whose results are there do not run again
    #[arg(long, value_name = "DIR", default_value = STORE)]
    store: PathBuf,
    /// Leave out combinations that the block refuses, instead of ending with an error before anything runs
    #[arg(long)]
    skip_illegal: bool,
    /// Take the few values of the section [small] instead of all
    #[arg(long)]
    small: bool,
    /// Where the points run
    #[arg(long, value_enum, default_value_t = EngineName::Local)]
    engine: EngineName,
    /// Points that run at a time on this machine [default: number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Seconds after which a point on this machine is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Wait for the Slurm jobs of an interrupted run and take over their results
    #[arg(long)]
    resume: bool,
    /// An option for sbatch, for example `--sbatch=--partition=long`; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    // These become words of other commands.
    for (what, path) in
        [("the file", Some(&args.file)), ("--store", Some(&args.store)), ("--output", args.output.as_ref())]
    {
        if let Some(odd) = path.filter(|p| p.to_str().is_none()) {
            return Err(Failure::Usage(format!("{what} {}: the name is not UTF-8", odd.display())));
        }
    }
    let spec = Spec::read(&args.file, args.small, catalogue)?;
    let plan = Plan::new(&spec)?;
    refuse_illegal(args, &spec, &plan)?;
    let store = Store::new(&args.store);
    let limit = limit(STORE_LIMIT)?;
    let output = args.folder(&spec)?;
    if args.engine == EngineName::Print {
        let program = [shell::program().to_owned()];
        let lines: String =
            jobs(args, &spec, &plan, &store, &program)?.iter().map(|j| shell::line(&j.words) + "\n").collect();
        return report::print(&lines);
    }
    let lost = start(args, &spec, &plan, &store, &output)?;
    let results = collect(&spec, &plan, &store, args.again(), |number| lost.get(&number).cloned())?;
    sweep::write(&output, &spec, &plan, &results)?;
    limit.map_or(Ok(()), |most| store.shrink(most).map(drop))?;
    if args.json {
        report::json(&results)?;
    } else {
        report::print(&summary(&plan, &results, &output))?;
    }
    if results.points.iter().all(PointResult::passed) { Ok(()) } else { Err(Failure::Reported) }
}

impl Args {
    /// The folder for the results. A quick look must not take the place of the whole sweep.
    fn folder(&self, spec: &Spec) -> Result<PathBuf> {
        let name = if self.small { format!("{}-small", spec.name) } else { spec.name.clone() };
        let folder = self.output.clone().unwrap_or_else(|| Path::new("target/sweeps").join(name));
        if self.small && Results::read(&folder).is_ok_and(|r| !r.small) {
            return Err(Failure::Usage(format!(
                "{} holds the results of a whole sweep: with --small, name another folder",
                folder.display()
            )));
        }
        Ok(folder)
    }

    /// The command that makes the same sweep again, as far as its results depend on it.
    fn again(&self) -> String {
        let mut words = vec![shell::program().to_owned(), "sweep".into(), self.file.display().to_string()];
        words.extend(self.small.then(|| "--small".into()));
        words.extend(self.skip_illegal.then(|| "--skip-illegal".into()));
        words.extend(self.output.iter().flat_map(|dir| ["--output".into(), dir.display().to_string()]));
        shell::line(&words)
    }
}

/// Illegal combinations are known before anything runs; whether they are meant is for the user to say.
fn refuse_illegal(args: &Args, spec: &Spec, plan: &Plan) -> Result<()> {
    if plan.illegal.is_empty() || args.skip_illegal {
        return Ok(());
    }
    const SHOWN: usize = 10;
    let defaults = spec.block.defaults();
    let total = plan.illegal.len() + plan.points.len();
    let mut text = format!("{} of {total} combinations are illegal:\n", plan.illegal.len());
    for (params, reason) in plan.illegal.iter().take(SHOWN) {
        text += &format!("  {}: {reason}\n", show_changes(&defaults, params));
    }
    if plan.illegal.len() > SHOWN {
        text += &format!("  and {} more\n", plan.illegal.len() - SHOWN);
    }
    text += "leave them out with a `where` line in the file, or with --skip-illegal";
    Err(Failure::Usage(format!("{}: {text}", spec.path.display())))
}

/// The points whose results are not all in the store.
fn jobs(args: &Args, spec: &Spec, plan: &Plan, store: &Store, program: &[String]) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for (number, planned) in plan.points.iter().enumerate() {
        let Ok(ready) = &planned.design else { continue };
        let mut complete = true;
        for key in &ready.keys {
            complete &= store.get(key)?.is_some();
        }
        if complete {
            continue;
        }
        let mut words = arguments(spec, &planned.params);
        words.splice(0..1, program.iter().cloned());
        words.extend(["--store".into(), args.store.display().to_string()]);
        if args.engine == EngineName::Slurm {
            let keys: Vec<_> = ready.keys.iter().map(|k| format!("{}={}", k.stage, k.hash)).collect();
            words.extend(["--keys".into(), keys.join(",")]);
        }
        jobs.push(Job { number, label: planned.label.clone(), words });
    }
    Ok(jobs)
}

fn start(args: &Args, spec: &Spec, plan: &Plan, store: &Store, output: &Path) -> Result<Lost> {
    // The jobs run this very program.
    let program = Program::this().map_err(|e| Failure::Check(format!("cannot find senbazuru itself: {e}")))?;
    let engine: Box<dyn Engine> = match args.engine {
        EngineName::Slurm => {
            let engine = Slurm {
                folder: output.join("slurm"),
                options: args.sbatch.clone(),
                resume: args.resume,
                poll: Duration::from_secs(1),
            };
            // Jobs of an earlier run that are still in the queue need no second job.
            engine.settle()?;
            Box::new(engine)
        }
        EngineName::Local | EngineName::Print => {
            let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
            Box::new(Local { jobs: args.jobs.unwrap_or(cores), limit: Some(Duration::from_secs(args.timeout)) })
        }
    };
    let jobs = jobs(args, spec, plan, store, &program.words)?;
    if jobs.is_empty() {
        return Ok(Lost::new());
    }
    let progress = Progress::new(jobs.len(), &spec.name);
    let (done, total, stored) = (progress.counter(), plan.points.len(), plan.points.len() - jobs.len());
    let (name, hint) = (spec.name.clone(), engine.after_interrupt());
    // Stored results stay, and running jobs die with this process.
    let mut signals =
        Signals::new([SIGINT, SIGTERM]).map_err(|e| Failure::NoAnswer(format!("cannot listen for signals: {e}")))?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let done = stored as u64 + done.position();
            crate::error::tell(&format!("\n{name}: interrupted, {done} of {total} points done; {hint}"));
            // As a shell says it of who died of the signal.
            std::process::exit(128 + signal);
        }
    });
    engine.run(&jobs, &progress)
}

fn summary(plan: &Plan, results: &Results, output: &Path) -> String {
    let failed: Vec<_> = results.points.iter().filter(|p| !p.passed()).collect();
    let mut text =
        format!("{}: {} points, {} passed", results.name, results.points.len(), results.points.len() - failed.len());
    for (number, what) in [(failed.len(), "failed"), (plan.illegal.len(), "illegal"), (plan.left_out, "left out")] {
        if number > 0 {
            text += &format!(", {number} {what}");
        }
    }
    text += "\n";
    for point in failed {
        text += &format!("  failed: {}: {}\n", point.label, point.complaint().unwrap_or_default());
    }
    text + &format!(
        "results in {}: results.sqlite, results.csv, results.jsonl, results.json, verilog\n",
        output.display()
    )
}
