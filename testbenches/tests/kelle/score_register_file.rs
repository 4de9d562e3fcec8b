//! The score register file in all its configurations, and broken ones.

use hdl::blocks::kelle::ScoreRegisterFile;
use sim::Design;
use testbenches::kelle::faults::must_be_noticed;
use testbenches::kelle::score_register_file::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(5000)).unwrap() {
        assert!(report.compared >= 20_000, "{report:?}");
    }
}

#[test]
fn broken_score_files_are_noticed() {
    let p = ScoreRegisterFile { rows: 7, score_width: 4, amount_width: 9 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = bench(&p).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in [
        ("scores never age", "wire halve = ages & step_i", "wire halve = 1'b0 & ages & step_i"),
        ("saturation is forgotten", "saturated_q <= ages & !step_i", "saturated_q <= ages & over & !step_i"),
    ] {
        must_be_noticed(&*bench, &design, 5000, what, right, wrong);
    }
}
