//! BitMoD's element in all its configurations, and broken ones.

use hdl::blocks::baselines::BitSerialPe;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::baselines::bit_serial_pe::bench;

#[test]
fn configurations() {
    for report in sim::kit::run_all(bench, &options(10_000)).unwrap_or_else(|e| panic!("{e:#}")) {
        assert!(report.compared > 20_000, "{report:?}");
    }
}

#[test]
fn broken_elements_are_noticed() {
    let faults = [
        ("the largest exponent is missed by one", Fault::net("largest", "right - 6'd1")),
        ("an infinity is not told", Fault::net("special", "1'b0")),
        ("ties go up", Fault::net("up", "shift_4[0]")),
        ("lost bits do not count", Fault::net("lost", "1'b0")),
        ("a carry of rounding is lost", Fault::net("carried", "1'b0")),
        ("the exponent of the group is forgotten", Fault::net("base_exponent", "6'd0")),
        ("significances do not count", Fault::net("significance_i", "3'd0")),
        ("a group does not begin", Fault::net("first_i", "1'b0").into("acc_q")),
        ("a product does not begin", Fault::net("result_before", "$signed({result_q[21:0], 1'b0})")),
    ];
    must_be_noticed(&BitSerialPe::default(), bench, 20_000, &faults);
}
