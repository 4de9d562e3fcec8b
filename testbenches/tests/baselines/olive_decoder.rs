//! The decoder of outlier-victim pairs, and broken ones.

use hdl::blocks::baselines::OliveDecoder;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::baselines::olive_decoder::bench;

#[test]
fn all_pairs() {
    for report in sim::kit::run_all(bench, &options(1)).unwrap_or_else(|e| panic!("{e:#}")) {
        assert!(report.compared >= 512 * 3, "{report:?}");
    }
}

#[test]
fn broken_decoders_are_noticed() {
    let faults = [
        ("a victim counts", Fault::net("victim_0", "1'b0").into("integer_0")),
        ("an outlier is taken for a normal value", Fault::net("victim_1", "1'b0").into("exponent_0")),
        ("one bias for both types", Fault::net("flint_i", "1'b0").into("exponent_1")),
        ("two victims are nothing special", Fault::net("victim_0", "1'b0").into("invalid_o")),
    ];
    must_be_noticed(&OliveDecoder::default(), bench, 1, &faults);
}
