//! The quantizer: configurations, all that a lane can see, and broken ones.

use hdl::blocks::titanus::NonZeroQuantizer;
use sim::Design;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::titanus::non_zero_quantizer::{bench, quantizer_bench};

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 500, false);
}

/// Every distance, range and width, and every low end, range and width for the zero point: 2,359,292 cases.
#[test]
fn all_inputs() {
    let block = NonZeroQuantizer { lanes: 16, tag_width: 1 };
    let design = Design::from(&hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}")));
    let bench = quantizer_bench(&block, true).unwrap_or_else(|e| panic!("{e}"));
    let report = sim::run(&*bench, &design, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.compared * 16 >= 2_359_292, "{report:?}");
}

#[test]
fn faults_are_found() {
    let faults = [
        ("values are rounded down", Fault::net("g_lanes[0].half", "9'd0")),
        ("zero points round the wrong way", Fault::net("g_lanes[0].bias", "g_lanes[0].half")),
    ];
    must_be_noticed(&NonZeroQuantizer { lanes: 2, tag_width: 1 }, bench, 2000, &faults);
}
