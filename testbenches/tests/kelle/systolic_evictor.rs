//! The systolic evictor in all its configurations, and broken ones.

use hdl::blocks::kelle::SystolicEvictor;
use sim::Design;
use testbenches::kelle::faults::must_be_noticed;
use testbenches::kelle::systolic_evictor::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(2000)).unwrap() {
        assert!(report.compared >= 4000, "{report:?}");
    }
}

#[test]
fn broken_evictors_are_noticed() {
    let p = SystolicEvictor { rows: 5, score_width: 3, amount_width: 4, passes: 3 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = bench(&p).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in [
        ("a tie goes to the later row", "(new_score < least[i])", "(new_score <= least[i])"),
        ("a tie goes to the later pass", "least[5] < kept_score_q", "least[5] <= kept_score_q"),
        ("protected rows win", "wire wins = !protected_q &", "wire wins ="),
        ("S changes between passes", "wire s_changes = load_i[i] |", "wire s_changes = 1'b1 | load_i[i] |"),
        ("a clear leaves passes under way", "wave[i] & !clear_i", "wave[i]"),
        ("a clear leaves the passes before", "last | clear_i", "last"),
        ("a pass too many hangs", "passes_i <= number_q", "passes_i == number_q"),
    ] {
        must_be_noticed(&*bench, &design, 2000, what, right, wrong);
    }
}
