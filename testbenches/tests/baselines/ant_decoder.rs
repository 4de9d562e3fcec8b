//! The decoder of ANT's types, with a sign and without, and broken ones.

use hdl::blocks::baselines::AntDecoder;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::baselines::ant_decoder::bench;

#[test]
fn both_signs() {
    let reports = sim::kit::run_all(bench, &options(1)).unwrap_or_else(|e| panic!("{e:#}"));
    let compared: Vec<u64> = reports.iter().map(|report| report.compared).collect();
    // All codes, and the exponents of zeros. Some types have two signed zeros.
    assert_eq!(compared, [64 + 7, 64 + 4]);
}

#[test]
fn broken_decoders_are_noticed() {
    let faults = [
        ("no power of two below 2", Fault::net("power", "body")),
        ("a magnitude without its lowest bit", Fault::net("magnitude", "{right[4:1], 1'b0}")),
    ];
    must_be_noticed(&AntDecoder::default(), bench, 1, &faults);
}
