//! The score register file in all its configurations, and broken ones.

use hdl::blocks::kelle::ScoreRegisterFile;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::kelle::score_register_file::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(5000)).unwrap() {
        assert!(report.compared >= 20_000, "{report:?}");
    }
}

#[test]
fn broken_score_files_are_noticed() {
    let faults = [
        ("scores never age", Fault::net("halve", "1'b0")),
        ("saturation is forgotten", Fault::net("ages", "right & over").into("saturated_q")),
    ];
    must_be_noticed(&ScoreRegisterFile { rows: 7, score_width: 4, amount_width: 9, heads: 1 }, bench, 5000, &faults);
}
