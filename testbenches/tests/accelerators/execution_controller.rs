//! The execution controller in all its configurations, and broken in its explicit mode.

use hdl::accelerators::tender::ExecutionController;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::accelerators::execution_controller::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(500)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// The smallest configuration, whose mutants are tested, has no explicit mode.
#[test]
fn faults_of_parts_are_found() {
    let faults = [
        ("a part does not begin anew", Fault::net("fresh_q", "1'b0")),
        ("the sums of a part stay", Fault::net("ends_part", "1'b0")),
        ("parts are told without the mode", Fault::net("tiles_explicit_i", "1'b1")),
        ("each part gives its panel back", Fault::net("b_free_o", "take_o")),
        ("each part is the last one", Fault::net("ends_o", "1'b1")),
        ("no part doubles", Fault::net("doubles_o", "1'b0")),
    ];
    must_be_noticed(&ExecutionController { depth: 5, steps: 9, explicit: true }, bench, 500, &faults);
}
