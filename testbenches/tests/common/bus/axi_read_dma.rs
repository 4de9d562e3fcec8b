//! The read DMA on a memory with pauses, errors and silence, and how much of its bandwidth is used.

use hdl::blocks::common::AxiReadDma;
use sim::kit::{options, run_all};
use testbenches::common::bus::axi_read_dma::{bench, share};

#[test]
fn all_configurations() {
    run_all(bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Eight bursts of 16 beats hide a latency of 100 cycles.
#[test]
fn reaches_the_bandwidth() {
    let p = AxiReadDma::default();
    assert_eq!((p.dma.outstanding, p.dma.burst_beats), (8, 16));
    let shares = std::cell::RefCell::new(Vec::new());
    let bench = sim::kit::bench(&p, |sim, run| {
        shares.borrow_mut().push(share(&p, sim, run, 100, 4096)?);
        Ok(())
    });
    let design = sim::Design::from(&hdl::lang::elaborate(&p).unwrap());
    sim::run(&*bench.unwrap(), &design, &options(1)).unwrap_or_else(|e| panic!("{e:#}"));
    assert!(shares.borrow()[0] >= 0.95, "{:?}", shares.borrow());
}
