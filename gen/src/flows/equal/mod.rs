//! Do two designs with the same ports do the same? With a proof, or a waveform in which they differ.
//!
//! "The same" is strict: all outputs, in every cycle, reset included, for all inputs. Nothing is known of the state at the
//! start, so registers are related by name:
//! - first, ABC's `cec` is asked about equal values in registers of the same name: do they always lead to the same
//!   outputs and the same next values ([`How::Registers`])? They do after most changes that change no function, and for
//!   any start value of registers and memories without a reset;
//! - else both start in reset; registers and memories without a reset start at zero. ABC looks for a run in which an
//!   output differs, and for a proof that there is none ([`How::Sequential`]).
//!
//! A difference is simulated by Yosys on the design as it was read, before its waveform is handed out.

mod ask;
mod miter;
mod options;

use std::path::PathBuf;

use serde::Serialize;

use crate::error::{Failure, Result};
use crate::flows::workspace::Workspace;
use crate::flows::yosys;
pub use options::{How, Options, Side};

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Verdict {
    /// They do the same.
    Equal {
        /// In which sense.
        how: How,
    },
    /// Their ports are not the same, so there is nothing to ask.
    Ports {
        /// The difference.
        what: String,
    },
    /// Some run tells them apart.
    Differ {
        /// Cycle of the difference, counted from 0, the cycle of the reset.
        cycle: u32,
        /// Outputs that differ there.
        outputs: Vec<String>,
        /// Waveform.
        trace: Option<PathBuf>,
    },
    /// No answer within the limits.
    Open {
        /// How far it went.
        why: String,
    },
}

/// Compares two designs.
///
/// # Errors
/// A missing tool; a design that Yosys rejects, or whose state is not kept by one clock.
pub fn compare(left: &Side, right: &Side, options: &Options) -> Result<Verdict> {
    let work = Workspace::new()?;
    match ask(left, right, options, &work) {
        Err(Failure::NoAnswer(why)) if why.starts_with(yosys::TOO_LONG) => Ok(Verdict::Open { why }),
        other => other,
    }
}

fn ask(left: &Side, right: &Side, options: &Options, work: &Workspace) -> Result<Verdict> {
    let sides = [left, right];
    let ports = match miter::ports(sides, 3 * options.limit, work)? {
        Ok(ports) => ports,
        Err(what) => return Ok(Verdict::Ports { what }),
    };
    let both = miter::build(sides, &ports, options, work)?;
    if let Some(how) = ask::registers(&both, options, work)? {
        return Ok(Verdict::Equal { how });
    }
    if options.registers_only {
        return Ok(Verdict::Open { why: "registers of the same name do not do the same".into() });
    }
    match ask::runs(&both, options, work)? {
        ask::Answer::Equal => Ok(Verdict::Equal { how: How::Sequential }),
        ask::Answer::Open(why) => Ok(Verdict::Open { why }),
        ask::Answer::Differ(cycle) => {
            let outputs = miter::replay(work, &ports, sides, options.trace.as_deref())?;
            Ok(Verdict::Differ { cycle, outputs, trace: options.trace.clone() })
        }
    }
}
