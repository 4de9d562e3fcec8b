//! Runs a block's testbench against its golden model and turns a failure into a complete report.

mod context;
mod options;

pub(crate) use context::Contract;
pub use context::Run;
pub use options::RunOptions;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use crate::{BuildOptions, Coverage, Design, Difference, Error, Initial, Mismatch, Model, Opt, Result, Sim, Trace};

/// A testbench: drives one instance and compares it with the golden model.
///
/// It must be a function of the seed alone, because a failing run is repeated to write its waveform.
pub trait Bench {
    /// Name of the block, as the command line knows it.
    fn block(&self) -> &str;

    /// The block's parameters, as a JSON object.
    fn parameters(&self) -> Value {
        Value::Null
    }

    /// The test. Failures come from the comparisons of `run`; return them with `?`.
    fn run(&self, sim: &mut Sim, run: &mut Run) -> Result<()>;
}

/// The report of a successful run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Block under test.
    pub block: String,
    /// Seed of the run.
    pub seed: u64,
    /// Test vectors of the run. It has more than requested if so few vectors compare nothing.
    pub vectors: u64,
    /// Clock cycles.
    pub cycles: u64,
    /// Values compared with the golden model.
    pub compared: u64,
    /// Cycles in which a driver waited for the design.
    pub input_stalls: u64,
    /// Cycles in which the design waited for a monitor.
    pub output_stalls: u64,
    /// Wall time of the simulation, without building.
    pub seconds: f64,
    /// Waveform, if requested.
    pub waveform: Option<PathBuf>,
    /// Coverage, if requested.
    pub coverage: Option<Coverage>,
}

impl RunReport {
    /// Simulated cycles per second of wall time.
    pub fn cycles_per_second(&self) -> f64 {
        self.cycles as f64 / self.seconds.max(1e-9)
    }
}

/// Cycles before a failure that its waveform shows.
const TRACED_CYCLES: u64 = 5_000;

/// A bench that compares nothing gets more vectors, up to this number.
const MOST_VECTORS: u64 = 4096;

/// Builds `design` and runs `bench` on it. A failing run is repeated with a traced model to write a waveform. A bench
/// that compares nothing with few vectors gets twice as many, and again, up to 4,096.
///
/// # Errors
/// [`Error::Mismatch`] when the hardware is wrong; any error of building. A bench that compares nothing is
/// [`Error::Unsupported`]: it would pass whatever the hardware does.
pub fn run(bench: &dyn Bench, design: &Design, options: &RunOptions) -> Result<RunReport> {
    let mut options = options.clone();
    loop {
        let report = run_once(bench, design, &options)?;
        if report.compared > 0 {
            return Ok(report);
        }
        if options.vectors >= MOST_VECTORS {
            return Err(Error::Unsupported(format!("the bench of `{}` compared nothing", report.block)));
        }
        options.vectors = (options.vectors * 2).clamp(2, MOST_VECTORS);
    }
}

/// Most vectors of a run whose model had better compile fast.
const SHORT: u64 = 100;

fn build(options: &RunOptions, trace: Trace, coverage: bool) -> BuildOptions {
    let is_short = options.build.opt == Opt::default() && options.vectors <= SHORT;
    let opt = if is_short { Opt::Short } else { options.build.opt };
    BuildOptions { trace, coverage, opt, ..options.build.clone() }
}

fn run_once(bench: &dyn Bench, design: &Design, options: &RunOptions) -> Result<RunReport> {
    let model = Model::build(design, &build(options, options.trace, options.coverage))?;
    let mut sim = model.instance_with(Initial::Random(options.seed))?;
    let waveform = match options.trace {
        Trace::Off => None,
        trace => Some(wave_path(bench, options, trace)?),
    };
    if let Some(path) = &waveform {
        sim.open_trace(path)?;
    }
    let mut context = Run::new(bench.block(), bench.parameters(), options);
    let start = Instant::now();
    let result = execute(bench, &mut sim, &mut context);
    let seconds = start.elapsed().as_secs_f64();
    if let Err(error) = result {
        drop(sim);
        return Err(match error {
            Error::Mismatch(mut mismatch) => {
                match waveform {
                    Some(path) => mismatch.waveform = Some(path),
                    None => trace_failure(bench, design, options, &mut mismatch),
                }
                Error::Mismatch(mismatch)
            }
            other => other,
        });
    }
    let coverage = if options.coverage { Some(sim.coverage()?) } else { None };
    sim.close_trace()?;
    Ok(RunReport {
        block: context.block,
        seed: options.seed,
        vectors: options.vectors,
        cycles: sim.cycle_count(),
        compared: context.compared,
        input_stalls: context.input_stalls,
        output_stalls: context.output_stalls,
        seconds,
        waveform,
        coverage,
    })
}

/// Runs `bench` on an instance that the caller made. There is no report and no waveform, but the context has the
/// comparisons.
pub(crate) fn run_on(bench: &dyn Bench, sim: &mut Sim, options: &RunOptions) -> (Result<()>, Run) {
    let mut context = Run::new(bench.block(), bench.parameters(), options);
    let result = execute(bench, sim, &mut context);
    (result, context)
}

fn execute(bench: &dyn Bench, sim: &mut Sim, context: &mut Run) -> Result<()> {
    match bench.run(sim, context) {
        Err(Error::Stopped { cycle, log }) => Err(context.fail(cycle, Difference::Stopped { log })),
        Err(Error::Bus(violation)) => {
            let port = format!("{}, channel {}", violation.interface, violation.channel);
            Err(context.fail(violation.cycle, Difference::Protocol { port, problem: violation.problem() }))
        }
        Err(Error::BusTimeout { cycle, interface, problem }) => {
            Err(context.fail(cycle, Difference::Protocol { port: interface, problem }))
        }
        other => other,
    }
}

/// Repeats a failed run with waveforms. A problem here must not hide the failure itself, so it becomes a note.
fn trace_failure(bench: &dyn Bench, design: &Design, options: &RunOptions, failure: &mut Mismatch) {
    let repeat = || -> Result<(PathBuf, Result<()>)> {
        let mut sim =
            Model::build(design, &build(options, Trace::Vcd, false))?.instance_with(Initial::Random(options.seed))?;
        let path = wave_path(bench, options, Trace::Vcd)?;
        sim.open_trace_at(&path, failure.cycle.saturating_sub(TRACED_CYCLES))?;
        let result = execute(bench, &mut sim, &mut Run::new(bench.block(), bench.parameters(), options));
        sim.close_trace()?;
        Ok((path, result))
    };
    match repeat() {
        Err(error) => failure.waveform_note = Some(error.to_string()),
        Ok((path, result)) => {
            failure.waveform = Some(path);
            let same = |again: &Mismatch| again.cycle == failure.cycle && again.difference == failure.difference;
            if !result.is_err_and(|e| e.mismatch().is_some_and(same)) {
                let why = "the repeated run behaved differently: a register that no reset clears is read before it is written, or the \
                    bench is not deterministic";
                failure.waveform_note = Some(why.into());
            }
        }
    }
}

/// `<folder>/<block>-<hash of the parameters>-seed<n>.<ext>`: runs of a sweep do not overwrite each other.
fn wave_path(bench: &dyn Bench, options: &RunOptions, trace: Trace) -> Result<PathBuf> {
    let folder = options.waves.clone().unwrap_or_else(default_waves);
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    let hash = blake3::hash(bench.parameters().to_string().as_bytes()).to_hex();
    let block: String = bench.block().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    Ok(folder.join(format!("{block}-{}-seed{}.{}", &hash[..8], options.seed, trace.extension())))
}

/// `target/waves` next to the nearest `Cargo.lock` above, so that tests of all crates write to one place.
fn default_waves() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(Path::new("."));
    root.join("target/waves")
}
