//! The KLLM accelerator in all configurations.

use hdl::accelerators::kllm::KllmTop;
use hdl::lang::CatalogBlock;
use testbenches::systems::kllm_top::bench;
use testbenches::{options, run};

/// Its parameters are small enough to be built in ordinary tests.
#[test]
fn all_small_configurations() {
    for block in KllmTop::configurations() {
        run(&block, bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
    }
}
