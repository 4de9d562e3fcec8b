//! The documentation's claims about the costs of KLLM's counter.

use hdl::blocks::kllm::{BinStyle, IndexDistributionCounter};
use hdl::lang::elaborate;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, Report, synthesise};
use test_tag::tag;

fn synth(block: &IndexDistributionCounter) -> Report {
    let design = elaborate(block).unwrap_or_else(|e| panic!("{e}"));
    synthesise(&Sources::from(&design), &design.manifest(), &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// At the paper's size, short registers and a log take less of everything than full-width registers.
#[tag(release)]
#[test]
#[ignore = "minutes: synthesis at the paper's size"]
fn the_overflow_log_is_smaller() {
    let log = synth(&IndexDistributionCounter::default());
    let full = synth(&IndexDistributionCounter { bins: BinStyle::FullWidth, ..IndexDistributionCounter::default() });
    assert!(log.total.flip_flops * 100 < full.total.flip_flops * 75, "{:?}", log.total);
    let nodes = |r: &Report| r.aig.as_ref().map_or(0, |a| a.dc2.and_nodes);
    assert!(nodes(&log) * 100 < nodes(&full) * 95, "{} and {}", nodes(&log), nodes(&full));
}
