//! The eviction controller in all its configurations, and broken ones.

use hdl::blocks::kelle::EvictionController;
use sim::Design;
use testbenches::kelle::eviction_controller::bench;
use testbenches::kelle::faults::must_be_noticed;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(10_000)).unwrap() {
        assert!(report.compared >= 20_000, "{report:?}");
    }
}

#[test]
fn broken_controllers_are_noticed() {
    let p = EvictionController { slots: 5 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = bench(&p).unwrap_or_else(|e| panic!("{e}"));
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
