//! Kelle in all small configurations.

use hdl::accelerators::kelle::KelleTop;
use hdl::lang::CatalogBlock;
use testbenches::systems::kelle_top::bench;
use testbenches::{options, run};

#[test]
fn all_small_configurations() {
    let mut blocks = KelleTop::configurations();
    blocks.reverse();
    for block in seeds::some(&blocks, 1) {
        run(block, bench, &options(120)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}
