//! AXI4: DMAs and arbiter before a memory with pauses, errors and silence.

use hdl::blocks::common::{AxiArbiter, AxiReadDma, AxiWriteDma};
use testbenches::common::bus;
use testbenches::{options, run_all};

#[test]
fn axi_read_dma() {
    run_all::<AxiReadDma>(bus::axi_read_dma::bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn axi_write_dma() {
    run_all::<AxiWriteDma>(bus::axi_write_dma::bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn axi_arbiter() {
    run_all::<AxiArbiter>(bus::axi_arbiter::bench, &options(400)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Eight bursts of 16 beats hide a latency of 100 cycles.
#[test]
fn reads_reach_the_bandwidth() {
    let p = AxiReadDma::default();
    assert_eq!((p.dma.outstanding, p.dma.burst_beats), (8, 16));
    let beats = 4096;
    let shares = std::cell::RefCell::new(Vec::new());
    let bench = testbenches::bench(&p, |sim, run| {
        shares.borrow_mut().push(bus::axi_read_dma::share(&p, sim, run, 100, beats)?);
        Ok(())
    });
    let design = sim::Design::from(&hdl::lang::elaborate(&p).unwrap());
    sim::run(&*bench.unwrap(), &design, &options(1)).unwrap_or_else(|e| panic!("{e:#}"));
    let share = shares.borrow()[0];
    println!("share of the beats that memory offers: {share:.4}");
    assert!(share >= 0.95, "{share}");
}
