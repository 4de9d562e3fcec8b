//! The processing element in all its configurations, and broken ones.

use hdl::blocks::tender::{Drain, Rescale, TenderPe};
use hdl::lang::CatalogBlock;
use sim::{Design, RunOptions};
use testbenches::options;
use testbenches::tender::tender_pe::bench;

#[test]
fn configurations() {
    for block in std::iter::once(TenderPe::default()).chain(TenderPe::configurations()) {
        let options = options(20_000);
        testbenches::run(&block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn broken_elements_are_noticed() {
    let adder = TenderPe::default();
    let single = TenderPe { drain: Drain::Single, ..TenderPe::default() };
    let factor = TenderPe { rescale: Rescale::Factor, ..TenderPe::default() };
    let faults = [
        (&adder, "no rescale", "(base & $signed({32{rescale_i}}))", "32'sd0"),
        (&adder, "overflow of the upper half only", "(base[31] ^ base[30])", "(!base[31] & base[30])"),
        (&adder, "the flag forgets", "(overflow_q & !first_i) | leaves", "leaves"),
        (&adder, "a waiting sum moves", "last_q | drain_i | !holds_q", "1'b1"),
        (&single, "the row shifts into a new tile", "(draining_q | drain_i) & !first_i", "draining_q | drain_i"),
        (&factor, "digits without a carry", "carry_q <= ", "carry_q <= 4'd0 & "),
    ];
    for (p, what, right, wrong) in faults {
        let mut design = Design::from(&hdl::lang::elaborate(p).unwrap());
        let file = &mut design.files[0];
        assert!(file.text.contains(right), "{what}: no `{right}` in\n{}", file.text);
        file.text = file.text.replace(right, wrong);
        let waves = tempfile::tempdir().unwrap();
        let options = RunOptions { vectors: 20_000, waves: Some(waves.path().into()), ..RunOptions::default() };
        let error = sim::run(&*bench(p).unwrap(), &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}
