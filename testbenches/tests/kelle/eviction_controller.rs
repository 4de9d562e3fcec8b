//! The eviction controller in all its configurations, and broken ones.

use hdl::blocks::kelle::EvictionController;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::kelle::eviction_controller::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(10_000)).unwrap() {
        assert!(report.compared >= 20_000, "{report:?}");
    }
}

#[test]
fn broken_controllers_are_noticed() {
    let faults = [
        ("the hole is not closed", Fault::net("beyond", "1'b0")),
        ("a protected token is evicted", Fault::net("no_victim", "!insert_found_i")),
        (
            "a clear does not end a walk",
            Fault::net("state_d", "(state_q == StateWalk) & !(entry_ready_i & last) ? state_q : right"),
        ),
        (
            "a clear does not recall a place",
            Fault::net("state_d", "(state_q == StateReply) & !place_ready_i ? state_q : right"),
        ),
        ("new tokens are always let in", Fault::net("insert_ready_o", "1'b1")),
        ("walks are let in with a clear", Fault::net("walk_ready_o", "idle")),
    ];
    must_be_noticed(&EvictionController { slots: 5 }, bench, 5000, &faults);
}
