//! OLAccel's group in all its configurations, and broken ones.

use hdl::blocks::baselines::OutlierPeGroup;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::baselines::outlier_pe_group::bench;

#[test]
fn configurations() {
    for report in sim::kit::run_all(bench, &options(10_000)).unwrap_or_else(|e| panic!("{e:#}")) {
        assert!(report.compared > 15_000, "{report:?}");
    }
}

#[test]
fn broken_groups_are_noticed() {
    let faults = [
        ("the extra multiplier rests", Fault::net("outlier", "8'd0")),
        ("the row loses a tile", Fault::net("last_q", "1'b0").into("g_places[2].result_q")),
        ("a waiting sum moves", Fault::net("moves", "1'b1")),
        ("a tile does not begin", Fault::net("first_i", "1'b0").into("g_lanes[1].acc_q")),
        ("the flag forgets", Fault::net("first_i", "1'b1").into("g_lanes[1].overflow_q")),
        ("upper halves count once", Fault::net("upper_i", "1'b0")),
        ("a reset leaves the last step", Fault::net("rst_ni", "1'b1").into("last_q")),
    ];
    let block = OutlierPeGroup { lanes: 4, accumulator_width: 16, ..OutlierPeGroup::default() };
    must_be_noticed(&block, bench, 20_000, &faults);
}
