//! Proofs of designs that are broken on purpose: a property that has not been seen to fail proves nothing.

use std::path::Path;
use std::time::Duration;

use senbazuru::catalogue::Catalogue;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::prove::{Options, Verdict, prove};
use sim::Design;
use sim::fault::{self, Fault};

use super::{on_all_cores, parts};

/// A fault of a block, and the property that refutes it.
#[derive(Debug)]
pub struct Refutation {
    pub block: &'static str,
    /// Which of the registered proofs, the first being 0.
    pub proof: usize,
    pub what: &'static str,
    pub fault: Fault,
    /// The property, without the number of a round in a loop.
    pub by: &'static str,
    /// Cycles from reset to the counterexample.
    pub step: u32,
}

/// A proof of each faulty design must fail in its property at its step. A full run proves all faults, an ordinary run a
/// tenth of them.
pub fn refute(faults: Vec<Refutation>) {
    let some = seeds::some(&faults, faults.len().div_ceil(10));
    let work = some.into_iter().map(|f| (format!("{} {}: {}", f.block, f.proof, f.what), f)).collect();
    on_all_cores(work, |fault: &&Refutation| {
        let refuted = refuted(fault)?;
        let expected = (fault.by.to_owned(), fault.step);
        if refuted.contains(&expected) { Ok(()) } else { Err(format!("expected {expected:?}, refuted: {refuted:?}")) }
    });
}

/// The properties that fail, and after how many cycles.
fn refuted(broken: &Refutation) -> Result<Vec<(String, u32)>, String> {
    let part = parts::all().into_iter().filter(|part| part.name == broken.block).nth(broken.proof);
    let (hardware, depth) = match part {
        Some(part) => ((part.design)(), part.depth),
        None => {
            let entry = Catalogue::standard().find(broken.block).cloned().map_err(|e| e.to_string())?;
            let proof = entry.proofs().into_iter().nth(broken.proof).ok_or("there is no such proof")?;
            (entry.elaborate(&proof.params).map_err(|e| e.to_string())?, proof.depth)
        }
    };
    let netlist = fault::netlist(&Design::from(&hardware), &broken.fault).map_err(|e| e.to_string())?;
    let sources = Sources { netlist: Some(netlist), ..Sources::from(&hardware) };
    let options = Options {
        depth: depth.max(broken.step),
        cover_depth: 1,
        induction: false,
        solver: "z3".into(),
        limit: Duration::from_secs(900),
        traces: Path::new(env!("CARGO_TARGET_TMPDIR")).join("refuted"),
    };
    let properties = prove(&sources, &options).map_err(|e| e.to_string())?;
    let name = |name: &str| name.split('[').next().unwrap_or(name).to_owned();
    let failed = properties.iter().filter(|p| p.verdict == Verdict::Refuted);
    let mut failed: Vec<_> = failed.map(|p| (name(&p.name), p.step.unwrap_or(0))).collect();
    failed.sort_by_key(|f| f.1);
    Ok(failed)
}
