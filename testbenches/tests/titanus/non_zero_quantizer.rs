//! The quantizer: configurations, all that a lane can see, and broken ones.

use hdl::blocks::titanus::NonZeroQuantizer;
use sim::Design;
use testbenches::options;
use testbenches::titanus::non_zero_quantizer::{bench, quantizer_bench};

use crate::configurations;
use crate::fault_support::must_be_found;

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
        ("values are rounded down", "wire [8:0] bias = half - ", "wire [8:0] bias = 9'd0 - "),
        ("zero points round the wrong way", "{8'd0, down & !tile_range_i[9*i]}", "9'd0"),
    ];
    let block = NonZeroQuantizer { lanes: 2, tag_width: 1 };
    must_be_found(&block, bench, 2000, &faults);
}
