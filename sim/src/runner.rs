//! Runs a block's testbench against its golden model and turns a failure into a complete report.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hdl::lang::Record;
use serde_json::Value;

use crate::stimulus::{Stall, StimulusRng, rng_for};
use crate::stream::{StreamDriver, StreamMonitor, Wrong};
use crate::typed::{Driver, Monitor, Values};
use crate::{
    Bits, BuildOptions, Coverage, Design, Difference, Error, Initial, Mismatch, Model, Out, Result, Sim, Trace,
};

/// A testbench: drives one instance and compares it with the golden model.
///
/// It must be a function of the seed alone, since a failing run is repeated to write its waveform.
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

/// How to run a [`Bench`].
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Fixes stimuli, pauses and the state before reset.
    pub seed: u64,
    /// Number of test vectors that the bench should use.
    pub vectors: u64,
    /// Write a waveform of this run, failing or not.
    pub trace: Trace,
    /// Collect coverage.
    pub coverage: bool,
    /// Cycles without any transfer after which streams count as deadlocked.
    pub patience: u64,
    /// Cycles after which a run with streams ends as failed.
    pub max_cycles: u64,
    /// Folder for waveforms; `None` is `target/waves` of the workspace.
    pub waves: Option<PathBuf>,
    /// Command that repeats the run; composed from block, parameters, seed and vectors when `None`.
    pub command: Option<String>,
    /// How models are compiled; `trace` and `coverage` of this value are replaced by those above.
    pub build: BuildOptions,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            vectors: 1000,
            trace: Trace::Off,
            coverage: false,
            patience: 10_000,
            max_cycles: 100_000_000,
            waves: None,
            command: None,
            build: BuildOptions::default(),
        }
    }
}

/// What a successful run did.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Block under test.
    pub block: String,
    /// Seed of the run.
    pub seed: u64,
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
    /// Waveform, when one was asked for.
    pub waveform: Option<PathBuf>,
    /// Coverage, when it was asked for.
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

/// Builds `design` and runs `bench` on it. A failing run is repeated with a traced model to leave a waveform.
///
/// # Errors
/// [`Error::Mismatch`] when the hardware is wrong; any error of building. A bench that compares nothing is
/// [`Error::Unsupported`]: it would pass whatever the hardware does.
pub fn run(bench: &dyn Bench, design: &Design, options: &RunOptions) -> Result<RunReport> {
    let build = BuildOptions { trace: options.trace, coverage: options.coverage, ..options.build.clone() };
    let model = Model::build(design, &build)?;
    let mut sim = model.instance_with(Initial::Random(options.seed))?;
    let waveform = match options.trace {
        Trace::Off => None,
        trace => Some(wave_path(bench, options, trace)?),
    };
    if let Some(path) = &waveform {
        sim.open_trace(path)?;
    }
    let mut context = Run::new(bench, options);
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
    if context.compared == 0 {
        let problem = format!("the bench of `{}` compared nothing", context.block);
        return Err(Error::Unsupported(problem));
    }
    let coverage = if options.coverage { Some(sim.coverage()?) } else { None };
    Ok(RunReport {
        block: context.block,
        seed: options.seed,
        cycles: sim.cycle_count(),
        compared: context.compared,
        input_stalls: context.input_stalls,
        output_stalls: context.output_stalls,
        seconds,
        waveform,
        coverage,
    })
}

fn execute(bench: &dyn Bench, sim: &mut Sim, context: &mut Run) -> Result<()> {
    match bench.run(sim, context) {
        Err(Error::Stopped { cycle, log }) => Err(context.fail(cycle, Difference::Stopped { log })),
        other => other,
    }
}

/// Repeats a failed run with waveforms. A problem here must not hide the failure itself, so it becomes a note.
fn trace_failure(bench: &dyn Bench, design: &Design, options: &RunOptions, failure: &mut Mismatch) {
    let repeat = || -> Result<(PathBuf, Result<()>)> {
        let build = BuildOptions { trace: Trace::Vcd, coverage: false, ..options.build.clone() };
        let mut sim = Model::build(design, &build)?.instance_with(Initial::Random(options.seed))?;
        let path = wave_path(bench, options, Trace::Vcd)?;
        sim.open_trace_at(&path, failure.cycle.saturating_sub(TRACED_CYCLES))?;
        let result = execute(bench, &mut sim, &mut Run::new(bench, options));
        Ok((path, result))
    };
    match repeat() {
        Err(error) => failure.waveform_note = Some(error.to_string()),
        Ok((path, result)) => {
            failure.waveform = Some(path);
            let same = |again: &Mismatch| again.cycle == failure.cycle && again.difference == failure.difference;
            if !result.is_err_and(|e| e.mismatch().is_some_and(same)) {
                failure.waveform_note =
                    Some("the repeated run behaved differently: the bench is not deterministic".into());
            }
        }
    }
}

/// The context of one run: random numbers, comparisons, streams.
pub struct Run {
    block: String,
    parameters: Value,
    command: String,
    seed: u64,
    vectors: u64,
    patience: u64,
    max_cycles: u64,
    compared: u64,
    input_stalls: u64,
    output_stalls: u64,
}

impl Run {
    fn new(bench: &dyn Bench, options: &RunOptions) -> Self {
        let parameters = bench.parameters();
        let command = options.command.clone();
        Self {
            block: bench.block().to_owned(),
            command: command.unwrap_or_else(|| repeat_command(bench.block(), &parameters, options)),
            parameters,
            seed: options.seed,
            vectors: options.vectors,
            patience: options.patience,
            max_cycles: options.max_cycles,
            compared: 0,
            input_stalls: 0,
            output_stalls: 0,
        }
    }

    /// Seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Number of test vectors asked for.
    pub fn vectors(&self) -> u64 {
        self.vectors
    }

    /// A random generator for one use within this run.
    pub fn rng(&self, label: &str) -> StimulusRng {
        rng_for(self.seed, label)
    }

    /// Driver of the input stream `name`; see [`StreamDriver::new`].
    pub fn driver(&self, sim: &Sim, name: &str, fields: &[&str], stall: Stall) -> Result<StreamDriver> {
        StreamDriver::new(sim, name, fields, stall, self.seed)
    }

    /// Monitor of the output stream `name`; see [`StreamMonitor::new`].
    pub fn monitor(&self, sim: &Sim, name: &str, fields: &[&str], stall: Stall) -> Result<StreamMonitor> {
        StreamMonitor::new(sim, name, fields, stall, self.seed)
    }

    /// Driver of the input stream `name` whose beats are structs; see [`Driver`].
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when a port is missing.
    pub fn driver_of<B: Record<Values>>(&self, sim: &Sim, name: &str, stall: Stall) -> Result<Driver<B>> {
        Driver::new(sim, name, stall, self.seed)
    }

    /// Monitor of the output stream `name` whose beats are structs; see [`Monitor`].
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when a port is missing.
    pub fn monitor_of<B: Record<Values>>(&self, sim: &Sim, name: &str, stall: Stall) -> Result<Monitor<B>> {
        Monitor::new(sim, name, stall, self.seed)
    }

    /// Compares an output of up to 64 bits with the golden model's unsigned value.
    #[inline]
    pub fn expect_u64(&mut self, sim: &Sim, output: Out, expected: u64) -> Result<()> {
        self.compared += 1;
        let got = sim.peek_u64(output);
        if got == expected { Ok(()) } else { Err(self.differ(sim, output, i128::from(expected), i128::from(got))) }
    }

    /// Compares an output of up to 64 bits, read as two's complement, with the golden model's value.
    #[inline]
    pub fn expect_i64(&mut self, sim: &Sim, output: Out, expected: i64) -> Result<()> {
        self.compared += 1;
        let got = sim.peek_i64(output);
        if got == expected { Ok(()) } else { Err(self.differ(sim, output, i128::from(expected), i128::from(got))) }
    }

    /// Compares an output of any width with the golden model's value.
    pub fn expect(&mut self, sim: &Sim, output: Out, expected: &Bits) -> Result<()> {
        self.compared += 1;
        let got = sim.peek(output);
        if got == *expected {
            return Ok(());
        }
        let signed = sim.port_of(output).signed;
        let (expected, got) = (show(expected, signed), show(&got, signed));
        let port = sim.port_of(output).name.clone();
        Err(self.fail(sim.cycle_count(), Difference::Value { port, expected, got, place: String::new() }))
    }

    /// Compares a part of a port, or what a bench has found out by itself; `place` says which part.
    pub fn expect_equal<T: PartialEq + std::fmt::Display>(
        &mut self,
        sim: &Sim,
        port: &str,
        place: &str,
        expected: T,
        got: T,
    ) -> Result<()> {
        self.compared += 1;
        if got == expected {
            return Ok(());
        }
        let (expected, got) = (expected.to_string(), got.to_string());
        let difference = Difference::Value { port: port.into(), expected, got, place: place.into() };
        Err(self.fail(sim.cycle_count(), difference))
    }

    /// Runs until every driver's beats are taken and every monitor has its expected beats, then as many cycles again as
    /// it takes to see that nothing more comes (64).
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a wrong beat, a breach of the protocol, a beat too many, or a deadlock.
    pub fn streams(
        &mut self,
        sim: &mut Sim,
        drivers: &mut [impl AsMut<StreamDriver>],
        monitors: &mut [impl AsMut<StreamMonitor>],
    ) -> Result<()> {
        let drivers = &mut drivers.iter_mut().map(AsMut::as_mut).collect::<Vec<_>>()[..];
        let monitors = &mut monitors.iter_mut().map(AsMut::as_mut).collect::<Vec<_>>()[..];
        const QUIET: u64 = 64;
        let (mut idle, mut quiet) = (0, 0);
        let waits = |drivers: &[&mut StreamDriver], monitors: &[&mut StreamMonitor]| {
            (drivers.iter().map(|d| d.waited()).sum::<u64>(), monitors.iter().map(|m| m.waited()).sum::<u64>())
        };
        let before = waits(drivers, monitors);
        while quiet < QUIET {
            let done = drivers.iter().all(|d| d.is_done()) && monitors.iter().all(|m| m.is_done());
            quiet = if done { quiet + 1 } else { 0 };
            let moved = self.cycle(sim, drivers, monitors)?;
            idle = if moved || done { 0 } else { idle + 1 };
            if idle >= self.patience || sim.cycle_count() >= self.max_cycles {
                let states = drivers.iter().map(|d| d.state()).chain(monitors.iter().map(|m| m.state()));
                let deadlock = Difference::Deadlock { cycles: idle, streams: states.collect() };
                return Err(self.fail(sim.cycle_count(), deadlock));
            }
        }
        let after = waits(drivers, monitors);
        self.input_stalls += after.0 - before.0;
        self.output_stalls += after.1 - before.1;
        Ok(())
    }

    /// One clock cycle with streams. Returns whether any beat passed.
    pub fn cycle(
        &mut self,
        sim: &mut Sim,
        drivers: &mut [impl AsMut<StreamDriver>],
        monitors: &mut [impl AsMut<StreamMonitor>],
    ) -> Result<bool> {
        drivers.iter_mut().for_each(|d| d.as_mut().drive(sim));
        monitors.iter_mut().for_each(|m| m.as_mut().drive(sim));
        sim.settle()?;
        let mut moved = false;
        for driver in drivers {
            moved |= driver.as_mut().sample(sim);
        }
        for monitor in monitors {
            let monitor = monitor.as_mut();
            let taken = monitor.sample(sim).map_err(|wrong| self.wrong(sim, wrong))?;
            self.compared += u64::from(taken && monitor.compares());
            moved |= taken;
        }
        sim.tick()?;
        Ok(moved)
    }

    /// A failure with the data of this run, for a comparison of the bench's own.
    pub fn fail(&self, cycle: u64, difference: Difference) -> Error {
        Error::from(Mismatch {
            block: self.block.clone(),
            parameters: self.parameters.clone(),
            seed: self.seed,
            cycle,
            difference,
            command: self.command.clone(),
            waveform: None,
            waveform_note: None,
        })
    }

    fn wrong(&self, sim: &Sim, wrong: Wrong) -> Error {
        let difference = match wrong {
            Wrong::Protocol { port, problem } => Difference::Protocol { port, problem },
            Wrong::Value { port, expected, got, place } => {
                let signed = sim.ports().iter().any(|p| p.name == port && p.signed);
                Difference::Value { port, expected: show(&expected, signed), got: show(&got, signed), place }
            }
        };
        self.fail(sim.cycle_count(), difference)
    }

    #[cold]
    fn differ(&self, sim: &Sim, output: Out, expected: i128, got: i128) -> Error {
        let port = sim.port_of(output);
        let width = port.width.min(64);
        let text = |value: i128| format!("{value} ({})", Bits::truncated(width, value as u64));
        let difference = Difference::Value {
            port: port.name.clone(),
            expected: text(expected),
            got: text(got),
            place: String::new(),
        };
        self.fail(sim.cycle_count(), difference)
    }
}

/// Decimal where a person can read it, and always the bits.
fn show(value: &Bits, signed: bool) -> String {
    let number = if signed { value.to_bigint() } else { value.to_biguint().into() };
    if value.width() <= 64 { format!("{number} ({value})") } else { value.to_string() }
}

fn repeat_command(block: &str, parameters: &Value, options: &RunOptions) -> String {
    let mut command = format!("senbazuru sim {block}");
    for (name, value) in hdl::lang::flatten(parameters) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        command.push_str(&format!(" --set {name}={text}"));
    }
    command + &format!(" --seed {} --vectors {} --trace", options.seed, options.vectors)
}

/// `<folder>/<block>-<hash of the parameters>-seed<n>.<ext>`: runs of a sweep do not overwrite each other.
fn wave_path(bench: &dyn Bench, options: &RunOptions, trace: Trace) -> Result<PathBuf> {
    let folder = options.waves.clone().unwrap_or_else(default_waves);
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    let hash = blake3::hash(bench.parameters().to_string().as_bytes()).to_hex();
    let block: String = bench.block().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    Ok(folder.join(format!("{block}-{}-seed{}.{}", &hash[..8], options.seed, trace.extension())))
}

/// `target/waves` beside the nearest `Cargo.lock` above, so that tests of all crates write to one place.
fn default_waves() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(Path::new("."));
    root.join("target/waves")
}
