//! Timing diagrams: a waveform file becomes an SVG drawing of a few signals over a few cycles.
//!
//! A column of the drawing is a clock cycle. It shows the value of a signal just before the rising edge that ends the
//! cycle, which a register would take. `signal` parses the user's request, `samples` takes the values out of the file,
//! `draw` draws.

mod draw;
mod sample;
mod samples;
mod signal;

use std::path::Path;

use crate::error::{Failure, Result};
use crate::waveform::Waveform;

/// The request for a drawing.
#[derive(Clone, Debug)]
pub struct Request {
    /// Signals as the user writes them; the ports of the top module when there are none.
    pub signals: Vec<String>,
    /// Name of the clock, or `none`; `clk_i` when nobody says, if the file has it.
    pub clock: Option<String>,
    /// First cycle.
    pub from: u64,
    /// Last cycle; the file's last, or 32 cycles in all, when there is none.
    pub to: Option<u64>,
    /// Heading of the drawing.
    pub title: String,
}

/// Cycles that are drawn when nobody says how many.
const CYCLES: u64 = 32;
/// More than this nobody can read.
const MOST: u64 = 400;

/// The drawing, as an SVG file that stands alone.
///
/// # Errors
/// A file that is not VCD, FST or GHW, signals and cycles that it does not have. The message names the ones that it
/// has.
pub fn render(path: &Path, request: &Request) -> Result<String> {
    let wrong = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let last = request.to.unwrap_or(request.from.saturating_add(CYCLES - 1));
    if last < request.from {
        return Err(wrong(format!("cycles from {} to {last} are none", request.from)));
    }
    if last - request.from >= MOST {
        let count = u128::from(last - request.from) + 1;
        return Err(wrong(format!("{count} cycles do not fit into a drawing, {MOST} do; choose with --from and --to")));
    }
    let file = Waveform::open(path)?;
    let clock = signal::clock(file.variables(), request.clock.as_deref()).map_err(wrong)?;
    let signals = signal::choose(file.variables(), &request.signals, clock).map_err(wrong)?;
    let samples = samples::read(file, &signals, clock, request.from..=last).map_err(wrong)?;
    Ok(draw::draw(&request.title, &signals, &samples))
}
