//! Evictor and eviction controller: configurations, and broken ones.

use hdl::blocks::kelle::{EvictionController, SystolicEvictor};
use sim::Design;
use testbenches::kelle::faults::must_be_noticed;
use testbenches::kelle::{eviction_controller, systolic_evictor};
use testbenches::options;

#[test]
fn all_evictors() {
    for report in testbenches::run_all(systolic_evictor::bench, &options(2000)).unwrap() {
        assert!(report.compared >= 4000, "{report:?}");
    }
}

#[test]
fn all_controllers() {
    for report in testbenches::run_all(eviction_controller::bench, &options(10_000)).unwrap() {
        assert!(report.compared >= 20_000, "{report:?}");
    }
}

#[test]
fn broken_evictors_are_noticed() {
    let p = SystolicEvictor { rows: 5, score_width: 3, amount_width: 4, passes: 3 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = systolic_evictor::bench(&p).unwrap_or_else(|e| panic!("{e}"));
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

#[test]
fn broken_controllers_are_noticed() {
    let p = EvictionController { slots: 5 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = eviction_controller::bench(&p).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in [
        ("the hole is not closed", "passes & beyond", "1'b0 & passes & beyond"),
        ("a protected token is evicted", "!insert_found_i | victim_guarded", "!insert_found_i"),
        ("a clear does not end a walk", "clear_i | (entry_ready_i & last)", "entry_ready_i & last"),
        ("a clear does not recall a place", "clear_i | place_ready_i", "place_ready_i"),
        ("new tokens are always let in", "assign insert_ready_o = takes", "assign insert_ready_o = 1'b1"),
        ("walks are let in with a clear", "assign walk_ready_o = open", "assign walk_ready_o = idle"),
    ] {
        must_be_noticed(&*bench, &design, 5000, what, right, wrong);
    }
}
