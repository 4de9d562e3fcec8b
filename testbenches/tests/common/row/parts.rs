//! Parts of the row units in all configurations, and broken.

use hdl::blocks::common::{
    CentreLane, InverseRoot, PowerLane, RoundHalf, RowAdder, RowProduct, RowReciprocal, ScaleLane, ShareLane,
    SquareLane,
};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::common::row::parts;

#[test]
fn all_configurations() {
    let options = options(2000);
    run_all::<RowAdder>(parts::adder, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<RowProduct>(parts::product, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<RowReciprocal>(parts::reciprocals, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<InverseRoot>(parts::root, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<PowerLane>(parts::power, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<SquareLane>(parts::squares, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<ScaleLane>(parts::scale, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<CentreLane>(parts::centre, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<ShareLane>(parts::share, &options).unwrap_or_else(|e| panic!("{e:#}"));
    run_all::<RoundHalf>(parts::round, &options).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn faults_are_found() {
    must_be_noticed(
        &SquareLane {},
        parts::squares,
        500,
        &[("unused elements count", Fault::net("counts", "!x_special"))],
    );
    let root = [
        ("odd exponents are even", Fault::net("odd", "1'b0")),
        ("digits are lost", Fault::net("digit", "1'b0").module("root_digit")),
    ];
    must_be_noticed(&InverseRoot::default(), parts::root, 500, &root);
    let round = [("subnormal results are not placed", Fault::net("low", "1'b0"))];
    must_be_noticed(&RoundHalf::default(), parts::round, 2000, &round);
}
