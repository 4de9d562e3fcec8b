//! The write DMA on a memory with pauses, errors and silence.

use sim::kit::{options, run_all};
use testbenches::common::bus::axi_write_dma::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}
