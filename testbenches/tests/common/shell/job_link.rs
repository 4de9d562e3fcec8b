//! The link in all its configurations, and broken.

use hdl::blocks::common::JobLink;
use sim::fault::Fault;
use testbenches::common::shell::job_link::bench;
use testbenches::faults::must_be_noticed;
use testbenches::options;

#[test]
fn all_configurations() {
    testbenches::run_all(bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// What a wrong link would do to the work of a chain.
#[test]
fn faults_are_found() {
    let net = |what: &str, to: &str| Fault::net(what, to);
    let faults = [
        ("a token counts twice", net("comes", "right && !(tokens_q == 16'd1)")),
        ("tokens stay after a clear", net("prior_ready_o", "clear_i ? ~ended_q : right")),
        ("a last one lets others follow", net("prior_ready_o", "!(&tokens_q) & !clear_i")),
        ("it begins before all tokens are there", net("all_taken", "right | (state_q == 3'd2 && left_q == 16'd1)")),
        ("marks do not matter", net("other_mark", "1'b0")),
        (
            "it waits a cycle too long",
            net("late", "waits & (|operation_words_i[95:64]) & (waited_q == operation_words_i[95:64])"),
        ),
        ("other fields do not matter", net("rest", "1'b0")),
        ("tokens are counted in 15 bits", net("prior_ready_o", "right & !(&tokens_q[14:0])")),
    ];
    must_be_noticed(&JobLink::default(), bench, 400, &faults);
}
