//! The systolic evictor in all its configurations, and broken ones.

use hdl::blocks::kelle::SystolicEvictor;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::kelle::systolic_evictor::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(2000)).unwrap() {
        assert!(report.compared >= 4000, "{report:?}");
    }
}

#[test]
fn broken_evictors_are_noticed() {
    let faults = [
        ("a tie goes to the later row", Fault::operator("g_cells[2].wins", "<", "<=")),
        ("a tie goes to the later pass", Fault::operator("replaces", "<", "<=")),
        ("protected rows win", Fault::net("g_cells[2].protected_q", "1'b0").into("g_cells[2].wins")),
        ("S changes between passes", Fault::net("g_cells[2].s_changes", "1'b1")),
        ("the least score is not held between passes", Fault::net("wave[5]", "1'b1").into("kept_score_q")),
        ("a clear leaves passes under way", Fault::net("clear_i", "1'b0").into("g_cells[2].wave_q")),
        ("a clear leaves the passes before", Fault::net("ends", "last")),
        ("a pass too many hangs", Fault::operator("last", "<=", "==")),
    ];
    must_be_noticed(&SystolicEvictor { rows: 5, score_width: 3, amount_width: 4, passes: 3 }, bench, 2000, &faults);
}
