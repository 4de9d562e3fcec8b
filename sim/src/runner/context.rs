//! The context of a bench for one run: random numbers, comparisons, streams.

use std::cell::RefCell;

use hdl::lang::Record;
use serde_json::Value;

use super::options::RunOptions;
use crate::bus::Partner;
use crate::stimulus::{Stall, StimulusRng, rng_for};
use crate::stream::{StreamDriver, StreamMonitor, Wrong};
use crate::typed::{Driver, Monitor, Values};
use crate::{Bits, Difference, Error, Mismatch, Out, Result, Sim};

/// The context of one run: random numbers, comparisons, streams.
pub struct Run {
    pub(super) block: String,
    parameters: Value,
    command: String,
    seed: u64,
    vectors: u64,
    patience: u64,
    max_cycles: u64,
    pub(super) compared: u64,
    pub(super) input_stalls: u64,
    pub(super) output_stalls: u64,
    contract: RefCell<Contract>,
}

/// Rules about the ports of a block, which its bench declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contract {
    pub streams: Vec<WatchedStream>,
    /// Conditions on the inputs, in Verilog.
    pub given: Vec<String>,
}

/// Outputs that mean something only while valid is high: fields of a stream, and outputs that a bench names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchedStream {
    pub valid: String,
    pub fields: Vec<String>,
}

impl Run {
    /// A run of a block with these parameters.
    pub(super) fn new(block: &str, parameters: Value, options: &RunOptions) -> Self {
        let command = options.command.clone();
        Self {
            block: block.to_owned(),
            command: command.unwrap_or_else(|| repeat_command(block, &parameters, options)),
            parameters,
            seed: options.seed,
            vectors: options.vectors,
            patience: options.patience,
            max_cycles: options.max_cycles,
            compared: 0,
            input_stalls: 0,
            output_stalls: 0,
            contract: RefCell::default(),
        }
    }

    /// Values compared so far.
    pub(crate) fn compared(&self) -> u64 {
        self.compared
    }

    /// The rules that the bench has declared about the block's ports.
    pub(crate) fn contract(&self) -> Contract {
        self.contract.borrow().clone()
    }

    fn watch(&self, monitor: &StreamMonitor) {
        let (valid, fields) = monitor.port_names();
        self.watch_ports(valid.to_owned(), fields.to_vec());
    }

    /// Declares that these outputs mean something only while the output `valid` is high, by the contract. A fault that
    /// shows only at other times is no fault. If `valid` has several bits, each belongs to an equal share of each
    /// output.
    pub fn only_while(&self, valid: &str, outputs: &[&str]) {
        self.watch_ports(valid.to_owned(), outputs.iter().map(ToString::to_string).collect());
    }

    fn watch_ports(&self, valid: String, fields: Vec<String>) {
        let stream = WatchedStream { valid, fields };
        let mut contract = self.contract.borrow_mut();
        if !contract.streams.contains(&stream) {
            contract.streams.push(stream);
        }
    }

    /// Declares that the inputs obey this rule, a condition in Verilog, by the contract. A fault that shows only when
    /// they break the rule is no fault. The bench itself must obey the rule.
    pub fn given(&self, rule: &str) {
        let mut contract = self.contract.borrow_mut();
        if !contract.given.iter().any(|known| known == rule) {
            contract.given.push(rule.to_owned());
        }
    }

    /// Seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Number of requested test vectors.
    pub fn vectors(&self) -> u64 {
        self.vectors
    }

    /// A random generator for one use within this run.
    pub fn rng(&self, label: &str) -> StimulusRng {
        rng_for(self.seed, label)
    }

    /// Holds the reset for `cycles` rising edges, while the other inputs are noise. So a register that the reset
    /// forgets is wrong. Afterwards the inputs get their values back, and the outputs follow at the next `settle` or
    /// `tick`.
    ///
    /// # Errors
    /// The errors of [`Sim::reset`].
    pub fn reset(&self, sim: &mut Sim, cycles: u64) -> Result<()> {
        let mut rng = self.rng(&format!("reset in cycle {}", sim.cycle_count()));
        sim.reset_among(cycles, |width| Bits::random(width, &mut rng))
    }

    /// Driver of the input stream `name`; see [`StreamDriver::new`].
    pub fn driver(&self, sim: &Sim, name: &str, fields: &[&str], stall: Stall) -> Result<StreamDriver> {
        StreamDriver::new(sim, name, fields, stall, self.seed)
    }

    /// Monitor of the output stream `name`; see [`StreamMonitor::new`].
    pub fn monitor(&self, sim: &Sim, name: &str, fields: &[&str], stall: Stall) -> Result<StreamMonitor> {
        let monitor = StreamMonitor::new(sim, name, fields, stall, self.seed)?;
        self.watch(&monitor);
        Ok(monitor)
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
        let mut monitor = Monitor::new(sim, name, stall, self.seed)?;
        self.watch(monitor.as_mut());
        Ok(monitor)
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

    /// Compares a part of a port, or a value that a bench has derived; `place` says which.
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

    /// Runs until every driver's beats are taken and every monitor has its expected beats. Then it runs 64 more cycles,
    /// in which no further beat may come.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a wrong beat, a breach of the protocol, a beat too many, or a deadlock.
    pub fn streams(
        &mut self,
        sim: &mut Sim,
        drivers: &mut [impl AsMut<StreamDriver>],
        monitors: &mut [impl AsMut<StreamMonitor>],
    ) -> Result<()> {
        self.streams_with(sim, drivers, monitors, &mut [])
    }

    /// [`Run::streams`] with partners of other kinds, such as [`crate::bus::AxiMemory`]. All partners must be idle as
    /// well.
    ///
    /// # Errors
    /// The errors of [`Run::streams`] and of the partners.
    pub fn streams_with(
        &mut self,
        sim: &mut Sim,
        drivers: &mut [impl AsMut<StreamDriver>],
        monitors: &mut [impl AsMut<StreamMonitor>],
        partners: &mut [&mut dyn Partner],
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
            let done = drivers.iter().all(|d| d.is_done())
                && monitors.iter().all(|m| m.is_done())
                && partners.iter().all(|p| p.is_idle());
            quiet = if done { quiet + 1 } else { 0 };
            let moved = self.cycle_with(sim, drivers, monitors, partners)?;
            idle = if moved || done { 0 } else { idle + 1 };
            if idle >= self.patience || sim.cycle_count() >= self.max_cycles {
                let streams = drivers.iter().map(|d| d.state()).chain(monitors.iter().map(|m| m.state()));
                let states = streams.chain(partners.iter().map(|p| p.state()));
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
        self.cycle_with(sim, drivers, monitors, &mut [])
    }

    /// One clock cycle with streams and partners of other kinds. Returns whether anything passed.
    ///
    /// # Errors
    /// A wrong beat, and all errors of the partners.
    pub fn cycle_with(
        &mut self,
        sim: &mut Sim,
        drivers: &mut [impl AsMut<StreamDriver>],
        monitors: &mut [impl AsMut<StreamMonitor>],
        partners: &mut [&mut dyn Partner],
    ) -> Result<bool> {
        drivers.iter_mut().for_each(|d| d.as_mut().drive(sim));
        monitors.iter_mut().for_each(|m| m.as_mut().drive(sim));
        for partner in partners.iter_mut() {
            partner.drive(sim)?;
        }
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
        for partner in partners {
            moved |= partner.sample(sim)?;
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

/// Decimal up to 64 bits, and always the bits.
fn show(value: &Bits, signed: bool) -> String {
    let number = if signed { value.to_bigint() } else { value.to_biguint().into() };
    if value.width() <= 64 { format!("{number} ({value})") } else { value.to_string() }
}

pub(super) fn repeat_command(block: &str, parameters: &Value, options: &RunOptions) -> String {
    let mut command = format!("senbazuru sim {block}");
    for (name, value) in hdl::lang::flatten(parameters) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        command.push_str(&format!(" --set {name}={text}"));
    }
    command + &format!(" --seed {} --vectors {} --trace", options.seed, options.vectors)
}
