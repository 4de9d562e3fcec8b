//! Runs benches on broken hardware, and says how they notice.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::runner::{Contract, run_on};
use crate::{Bench, Difference, Error, Initial, Model, Result, RunOptions, Sim};

/// Size of a bench's run on the right design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Clock cycles.
    pub cycles: u64,
    /// Values compared with the golden model.
    pub compared: u64,
}

/// How a bench noticed that the hardware is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kill {
    /// A value differs or a rule of a protocol is broken, after this many cycles.
    Mismatch {
        /// Rising edges before the mismatch.
        cycle: u64,
    },
    /// No transfer passed any more, or the run did not end.
    Hang,
    /// The design stopped itself.
    Stopped,
    /// The bench returned another error: something is wrong, but the bench does not know what.
    Error(String),
    /// The bench panicked.
    Panic(String),
}

/// Limit of a broken design: this many times the cycles of the right design, plus the patience of the run. Beyond the
/// limit it counts as a hang.
const SLOWER: u64 = 3;

/// A bench that has passed on the right design.
pub(crate) struct Judge<'a> {
    bench: &'a dyn Bench,
    options: RunOptions,
    pub effort: Effort,
    /// What the bench declares about the block's ports.
    pub contract: Contract,
}

impl<'a> Judge<'a> {
    /// Runs `bench` on `right`, where it must pass.
    pub fn new(bench: &'a dyn Bench, right: &Model, options: &RunOptions) -> Result<Self> {
        let mut sim = right.instance_with(Initial::Random(options.seed))?;
        let (result, run) = run_on(bench, &mut sim, options);
        result?;
        let effort = Effort { cycles: sim.cycle_count(), compared: run.compared() };
        if effort.compared == 0 {
            return Err(Error::Unsupported(format!("the bench of `{}` compared nothing", bench.block())));
        }
        Ok(Self { bench, options: options.clone(), effort, contract: run.contract() })
    }

    /// Runs the bench on `broken` until it notices.
    ///
    /// # Errors
    /// Errors that say nothing about the design, such as a full disk.
    pub fn run(&self, broken: &Model, prepare: impl FnOnce(&mut Sim) -> Result<()>) -> Result<Option<Kill>> {
        let mut sim = broken.instance_with(Initial::Random(self.options.seed))?;
        prepare(&mut sim)?;
        sim.limit_cycles(SLOWER * self.effort.cycles + self.options.patience + 1000);
        match catch_unwind(AssertUnwindSafe(|| run_on(self.bench, &mut sim, &self.options).0)) {
            Ok(Ok(())) => Ok(None),
            Ok(Err(error)) if !error.is_verdict() => Err(error),
            Ok(Err(error)) => Ok(Some(kill(error))),
            Err(panic) => Ok(Some(Kill::Panic(text_of(&*panic)))),
        }
    }
}

fn kill(error: Error) -> Kill {
    match error {
        Error::Mismatch(mismatch) => match mismatch.difference {
            Difference::Deadlock { .. } => Kill::Hang,
            Difference::Stopped { .. } => Kill::Stopped,
            Difference::Value { .. } | Difference::Protocol { .. } => Kill::Mismatch { cycle: mismatch.cycle },
        },
        Error::CycleLimit { .. } => Kill::Hang,
        Error::Stopped { .. } => Kill::Stopped,
        other => Kill::Error(other.to_string()),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned()).or_else(|| panic.downcast_ref().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { cycle } => write!(f, "differs in cycle {cycle}"),
            Self::Hang => f.write_str("hangs"),
            Self::Stopped => f.write_str("stops itself"),
            Self::Error(why) => write!(f, "the bench fails: {why}"),
            Self::Panic(why) => write!(f, "the bench panics: {why}"),
        }
    }
}
