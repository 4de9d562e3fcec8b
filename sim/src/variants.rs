//! One model that holds a design and several alterations of it, chosen by a hidden input.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::runner::run_on;
use crate::{Bench, Design, Difference, Dir, Error, Initial, Model, Port, Result, Run, RunOptions, SELECT, SourceFile};
use crate::{BuildOptions, lint};

/// What a run takes.
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
    /// A value or a rule of a protocol differs, after this many cycles.
    Mismatch {
        /// Rising edges before it.
        cycle: u64,
    },
    /// Nothing moved any more, or the run did not end.
    Hang,
    /// The design stopped itself.
    Stopped,
    /// The bench returned another error: it understood that something is wrong, not what.
    Error(String),
    /// The bench panicked.
    Panic(String),
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

/// A compiled design with alterations 1 to `count`.
#[derive(Clone, Debug)]
pub(crate) struct Variants {
    pub model: Model,
    pub count: usize,
}

/// An alteration may take this many times as many cycles as the design as it is, and the patience of the run, before it
/// counts as one that does not end.
const SLOWER: u64 = 3;

impl Variants {
    /// Compiles the Verilog `text`, in which `count` alterations of `design` wait for their value of the hidden input.
    pub fn build(design: &Design, text: String, count: usize, options: &BuildOptions) -> Result<Self> {
        let mut altered = design.clone();
        altered.defines.clear();
        altered.files.retain(|file| !lint::is_verilog(file));
        altered.files.push(SourceFile { name: format!("{}_altered.v", design.top), text });
        if !altered.ports.is_empty() {
            let width = select_width(count);
            altered.ports.push(Port { name: SELECT.into(), dir: Dir::Input, width, signed: false });
        }
        Ok(Self { model: Model::build(&altered, options)?, count })
    }

    /// Runs `bench` on the design as it is.
    pub fn right(&self, bench: &dyn Bench, options: &RunOptions) -> Result<(Effort, Run)> {
        let mut sim = self.model.instance_with(Initial::Random(options.seed))?;
        let (result, run) = run_on(bench, &mut sim, options);
        result?;
        let effort = Effort { cycles: sim.cycle_count(), compared: run.compared() };
        if effort.compared == 0 {
            return Err(Error::Unsupported(format!("the bench of `{}` compared nothing", bench.block())));
        }
        Ok((effort, run))
    }

    /// Runs `bench` on alteration `number` until it notices; `right` is what the design as it is took.
    pub fn noticed(
        &self,
        number: usize,
        right: Effort,
        bench: &dyn Bench,
        options: &RunOptions,
    ) -> Result<Option<Kill>> {
        let mut sim = self.model.instance_with(Initial::Random(options.seed))?;
        sim.select(number as u64);
        sim.limit_cycles(SLOWER * right.cycles + options.patience + 1000);
        Ok(match catch_unwind(AssertUnwindSafe(|| run_on(bench, &mut sim, options).0)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(kill(error)),
            Err(panic) => Some(Kill::Panic(text_of(&*panic))),
        })
    }
}

/// Bits of the hidden input.
pub(crate) fn select_width(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
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
