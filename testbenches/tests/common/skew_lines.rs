//! The skew lines in all their configurations, and broken ones.

use hdl::blocks::common::SkewLines;
use sim::fault::Fault;
use testbenches::common::skew_lines::bench;
use testbenches::faults::must_be_noticed;
use testbenches::options;

#[test]
fn configurations() {
    for report in testbenches::run_all(bench, &options(200)).unwrap() {
        assert_eq!(report.compared, 200 + 1, "{report:?}");
    }
}

#[test]
fn broken_lines_are_noticed() {
    let faults = [
        ("a lane leaves early", Fault::net("line[1]", "line[0]")),
        ("a lane goes on as its neighbour", Fault::net("line[2]", "line[0]").into("g_stage[2].line_q")),
    ];
    must_be_noticed(&SkewLines { lanes: 3, width: 4, ..SkewLines::default() }, bench, 50, &faults);
}
