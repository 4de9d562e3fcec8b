//! Kelle in all small configurations.

use hdl::accelerators::kelle::KelleTop;
use hdl::lang::CatalogBlock;
use testbenches::systems::kelle_top::{bench, timing};
use testbenches::{options, run};

#[test]
fn all_small_configurations() {
    let mut blocks = KelleTop::configurations();
    blocks.reverse();
    for block in seeds::some(&blocks, 1) {
        run(block, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// Cycles of random chains of all operations are those of the golden recurrence, and no access to the cache waits.
#[test]
fn cycles_of_jobs() {
    let mut blocks = KelleTop::configurations();
    blocks.reverse();
    for block in seeds::some(&blocks, 1) {
        run(&timing::patient(block.clone()), timing::bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}

/// The same of all configurations.
#[test]
#[ignore = "minutes: three models"]
fn release_cycles_of_jobs() {
    for block in KelleTop::configurations() {
        run(&timing::patient(block), timing::bench, &options(400)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}
