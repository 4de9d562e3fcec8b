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
        ("columns come from the first channel", Fault::net("channels_q", "2'd0")),
        ("keys of the first token", Fault::net("key_read_at", "right % 3")),
    ];
    must_be_noticed(&ContextMemory { lanes: 4, tiles: 3, tokens: 7, engines: 1 }, bench, 600, &faults);
    let faults = [
        ("all engines write", Fault::net("key_enable", "2'd3")),
        ("the second engine has the first one's channel", Fault::net("words_twice_1", "words_twice_0")),
    ];
    must_be_noticed(&ContextMemory { lanes: 4, tiles: 3, tokens: 7, engines: 2 }, bench, 600, &faults);
}
