//! The controller in all its configurations, and broken.

use hdl::blocks::common::JobController;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::shell::job_controller::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Nobody need copy an operation: a controller that changes it before its end breaks its contract.
#[test]
fn an_operation_that_changes_is_noticed() {
    let changes = |net: &str| Fault::net(net, "operation_end_ready_o ? ~right : right");
    let faults = [
        ("the words change while it works", changes("operation_words_o")),
        ("the opcode changes while it works", changes("operation_opcode_o")),
        ("the flag changes while it works", changes("operation_independent_o")),
    ];
    must_be_noticed(&JobController::default(), bench, 20, &faults);
}
