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
    ];
    must_be_noticed(&JobController::default(), bench, 20, &faults);
}

/// Faults of a controller whose operations overlap.
#[test]
fn faults_of_overlaps_are_found() {
    let net = |what: &str, to: &str| Fault::net(what, to);
    let faults = [
        ("the number changes while it works", net("operation_independent_o", "operation_end_ready_o ? ~right : right")),
        ("no operation is waited for", net("operation_waits_o", "1'b0")),
        ("the last operation is not waited for", net("operation_waits_o", "descriptor_q[48]")),
        ("an error of its own does not wait", net("own_error", "1'b0")),
        ("what failed is the descriptor at hand", net("falls", "1'b0")),
    ];
    must_be_noticed(&JobController { overlaps: true, ..JobController::default() }, bench, 200, &faults);
}
