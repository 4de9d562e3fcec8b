//! The link in all its configurations, and broken.

use hdl::blocks::common::JobLink;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::shell::job_link::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Faults of a link that would harm the work of a chain.
#[test]
fn faults_are_found() {
    let net = |what: &str, to: &str| Fault::net(what, to);
    let faults = [
        ("a token counts twice", net("comes", "right && !(tokens_q == 6'd1)")),
        ("tokens stay after a clear", net("prior_ready_o", "clear_i ? ~ended_q : right")),
        ("a last one lets others follow", net("prior_ready_o", "!(&tokens_q) & !clear_i")),
        ("it begins before all tokens are there", net("all_taken", "right | (state_q == 3'd2 && left_q == 6'd1)")),
        ("marks do not matter", net("other_mark", "1'b0")),
        ("it waits a cycle too long", net("late", "waits & (|patience) & (waited_q == patience)")),
        ("what the host says does not matter", net("patience", "operation_words_i[71:64]")),
        ("what the host says goes before", net("patience", "|limit_i ? limit_i : operation_words_i[71:64]")),
        ("other fields do not matter", net("rest", "1'b0")),
        ("tokens are counted in a bit less", net("prior_ready_o", "right & !(&tokens_q[4:0])")),
        ("it never is patient for more than 127 cycles", net("waited_q", "{1'b0, right[6:0]}")),
        ("too many cycles to wait are some", net("beyond", "right & !(|operation_words_i[95:72])")),
    ];
    must_be_noticed(&JobLink::configurations()[0], bench, 600, &faults);
}
