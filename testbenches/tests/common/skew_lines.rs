//! The skew lines in all their configurations, and broken ones.

use hdl::blocks::common::SkewLines;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::skew_lines::bench;

#[test]
fn configurations() {
    for report in sim::kit::run_all(bench, &options(200)).unwrap() {
        assert_eq!(report.compared, 200 + 1, "{report:?}");
    }
}

#[test]
fn broken_lines_are_noticed() {
    let faults = [
        ("a lane leaves early", Fault::net("line[1]", "line[0]")),
        ("a lane goes on as its neighbour", Fault::net("line[2]", "line[0]").into("g_stage[2].line_q")),
    ];
    let block = SkewLines { lanes: 3, width: 4, ..SkewLines::default() };
    must_be_noticed(&block, bench, 50, &faults);
    let faults = [
        ("the lane of one cycle waits for none", Fault::net("next_q", "data_i[7:4]")),
        ("a lane leaves early", Fault::net("g_lane[1].from", "place_q - 2'd1")),
        ("a lane leaves late", Fault::net("g_lane[0].from", "place_q - 2'd2")),
        ("the place stands", Fault::net("place_q", "2'd0")),
    ];
    must_be_noticed(&SkewLines { lanes: 5, in_memory: true, ..block }, bench, 50, &faults);
}
