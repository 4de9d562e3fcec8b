//! Evictor and eviction controller: configurations, and broken ones.

use hdl::blocks::kelle::{EvictionController, SystolicEvictor};
use sim::Design;
use sim::fault::Fault;
use testbenches::faults::must_be_noticed_by;
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
    let faults = [
        ("a tie goes to the later row", Fault::operator("g_cells[2].wins", "<", "<=")),
        ("a tie goes to the later pass", Fault::operator("replaces", "<", "<=")),
        ("protected rows win", Fault::net("g_cells[2].protected_q", "1'b0").into("g_cells[2].wins")),
    ];
    must_be_noticed_by(&*bench, &design, 2000, &faults);
}

#[test]
fn broken_controllers_are_noticed() {
    let p = EvictionController { slots: 5 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = eviction_controller::bench(&p).unwrap_or_else(|e| panic!("{e}"));
    let faults = [
        ("the hole is not closed", Fault::net("beyond", "1'b0")),
        ("a protected token is evicted", Fault::net("victim_guarded", "1'b0")),
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
    must_be_noticed_by(&*bench, &design, 5000, &faults);
}
