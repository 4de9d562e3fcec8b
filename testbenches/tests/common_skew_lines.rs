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
    let p = SkewLines { lanes: 3, width: 4, ..SkewLines::default() };
    let faults = [
        ("a lane leaves early", Fault::net("line[3]", "line[2]")),
        ("a lane goes on as its neighbour", Fault::net("line[2]", "line[0]")),
    ];
    must_be_noticed(&p, bench, 50, &faults);
}
