//! Areas by synthesis. Results are kept in the store of sweeps, under everything that they depend on.

use std::path::PathBuf;

use super::Comparison;
use super::machine::Kind;
use crate::error::{Failure, Result};
use crate::flows::synth::Memories;
use crate::point::{self, Options, Point, Stage, Status, Store};
use crate::present::progress::Progress;

/// Square micrometres of a square millimetre, and bits of a Mbit.
const UM2: f64 = 1e6;
const MBIT: f64 = 1e6;

/// Synthesises blocks whose area nobody gives. Modules are synthesised apart, each once, and memories are counted in
/// bits. The library's areas are in square micrometres.
///
/// # Errors
/// A block that cannot be synthesised, a missing tool.
pub fn synthesise(comparison: &mut Comparison, library: &[PathBuf], store: &Store) -> Result<()> {
    let stages = [Stage::Synth];
    let options =
        Options { hierarchical: true, memories: Memories::Bits, liberty: library.to_vec(), ..Options::default() };
    let options = options.checked(&stages)?;
    if options.liberty.is_empty() {
        return Err(Failure::Usage("areas by synthesis need a cell library, not `none`".to_owned()));
    }
    let missing: Vec<_> = comparison.machines.iter_mut().filter(|machine| machine.area.is_none()).collect();
    let progress = Progress::new(missing.len(), "synthesising");
    for machine in missing {
        let Kind::Block { entry, params, .. } = &machine.kind else { continue };
        progress.message(format!("synthesising {}", machine.name));
        let found = point::run(&Point::new(entry, params.clone())?, &stages, &options, store)?;
        progress.step();
        let Some(found) = found.first().filter(|found| found.status == Status::Passed) else {
            let why = found.first().and_then(|found| found.message.clone()).unwrap_or_default();
            return Err(Failure::Check(format!("machine `{}` cannot be synthesised: {why}", machine.name)));
        };
        let number = |name: &str| found.metrics.get(name).and_then(serde_json::Value::as_f64);
        let Some(area) = number("area").filter(|area| *area > 0.0) else {
            return Err(Failure::Check(format!("machine `{}` has no area in this library", machine.name)));
        };
        machine.area = Some(area / UM2);
        machine.memory = machine.memory.or_else(|| number("memory_bits").map(|bits| bits / MBIT));
        let names: Vec<String> = library.iter().map(|library| library.display().to_string()).collect();
        machine.source = format!("synthesised in {}, modules apart", names.join(", "));
    }
    Ok(())
}
