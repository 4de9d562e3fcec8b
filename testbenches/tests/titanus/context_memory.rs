//! The context memory in all configurations, and broken ones.

use hdl::blocks::titanus::ContextMemory;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::context_memory::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 1500, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("values are not turned", Fault::net("token_row", "2'd0")),
        ("columns come from the first channel", Fault::net("channel_q", "2'd0")),
        ("keys of the first token", Fault::net("key_read_at", "right % 3")),
    ];
    must_be_noticed(&ContextMemory { lanes: 4, tiles: 3, tokens: 7 }, bench, 600, &faults);
}
