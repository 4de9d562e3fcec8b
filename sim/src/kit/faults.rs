//! Faults in a block: a bench that has never failed proves nothing.

use hdl::lang::CatalogBlock;

use super::MakeBench;
use crate::fault::{Fault, Models};
use crate::{Bench, Design, Kill, RunOptions};

/// Puts faults into `block`, one at a time, and demands that its bench notices each. `faults` are pairs of name and
/// fault. All faults of a native model are tried; of faults with a model of their own a full run takes all, another run
/// some ([`seeds::some`]). The seed is fixed: most faults are noticed with most random numbers, but not with all.
///
/// # Panics
/// When a name does not exist, or faults are not noticed.
pub fn must_be_noticed<B: CatalogBlock>(block: &B, make: MakeBench<B>, vectors: u64, faults: &[(&str, Fault)]) {
    let design = Design::from(&hdl::lang::elaborate(block).unwrap_or_else(|e| panic!("{e}")));
    let bench = make(block).unwrap_or_else(|e| panic!("{e}"));
    must_be_noticed_by(&*bench, &design, vectors, faults);
}

/// Faults with a model of their own that an ordinary run tries of a list.
const SOME: usize = 1;

/// The same for a bench and a design.
///
/// # Panics
/// When a name does not exist, or faults are not noticed.
pub fn must_be_noticed_by(bench: &dyn Bench, design: &Design, vectors: u64, faults: &[(&str, Fault)]) {
    let options = RunOptions { vectors, ..RunOptions::default() };
    let (whats, faults): (Vec<&str>, Vec<Fault>) = faults.iter().cloned().unzip();
    let models = Models::new(design, &faults, &options.build).unwrap_or_else(|e| panic!("{e}"));
    let apart: Vec<usize> = models.apart().keys().copied().collect();
    let mut tried: Vec<usize> = (0..faults.len()).filter(|at| !apart.contains(at)).collect();
    tried.extend(seeds::some(&apart, SOME));
    let kills = models.run(bench, &tried, &options).unwrap_or_else(|e| panic!("{e}"));
    let mut missed = String::new();
    for (at, kill) in tried.into_iter().zip(kills) {
        let (what, fault) = (whats[at], &faults[at]);
        match kill {
            Some(Kill::Mismatch { .. } | Kill::Hang | Kill::Stopped) => {}
            Some(other) => missed += &format!("{what} ({fault}): {other}\n"),
            None => missed += &format!("{what} ({fault}): not noticed\n"),
        }
    }
    assert!(missed.is_empty(), "{missed}");
}
