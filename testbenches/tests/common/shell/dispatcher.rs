//! The dispatcher in all its configurations, and broken.

use hdl::blocks::common::Dispatcher;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::shell::dispatcher::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(4000)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Faults with which an operation would go too early, or an error would get lost.
#[test]
fn faults_are_found() {
    let net = |what: &str, to: &str| Fault::net(what, to);
    let faults = [
        ("what it depends on does not matter", net("released_o", "3'b111")),
        ("what it reads early may change", net("early_o", "3'b111")),
        ("what it reads early waits as the rest", net("early", "operation_independent_i")),
        ("an engine gets a second operation", net("engine_busy", "1'b0")),
        ("the one before need not be right", net("any_unknown", "1'b0")),
        ("operations go after a failure", net("any_failed", "1'b0")),
        ("an end does not wait for others", net("any_busy", "1'b0")),
        ("any error is told", net("fails", "any_failed")),
        ("it goes on after an error", net("failed_q", "1'b0")),
        ("the operation that is told counts", net("beyond_q", "1'b0")),
        ("it is idle with operations in flight", net("idle_o", "state_q == 2'd0")),
        (
            "a clear is no reason to wait",
            net("operation_ready_o", "(state_q == 2'd0) & (goes | operation_nothing_i | any_failed)"),
        ),
    ];
    must_be_noticed(&Dispatcher::configurations()[1], bench, 2000, &faults);
}
