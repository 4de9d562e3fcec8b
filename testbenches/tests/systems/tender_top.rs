//! The Tender accelerator in all configurations.

use testbenches::systems::tender_top::bench;
use testbenches::{options, run_all};

#[test]
fn all_configurations() {
    run_all(bench, &options(300)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn dbg_small() {
    use hdl::lang::CatalogBlock;
    let p = &hdl::accelerators::tender::TenderTop::configurations()[0];
    testbenches::run(
        p,
        bench,
        &sim::RunOptions { seed: std::env::var("SEED").map_or(1, |v| v.parse().unwrap()), ..options(2000) },
    )
    .unwrap_or_else(|e| panic!("{e:#}"));
}
