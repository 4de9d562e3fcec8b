//! The floating-point units: all configurations, millions of operations, real weights, and broken ones.

mod add;
mod compare;
mod convert;
mod divide;
mod exp;
mod fma;
mod from_int;
mod mul;
mod reciprocal;
mod rsqrt;
mod sigmoid;
mod sqrt;
mod table;
mod to_int;

use hdl::blocks::common::{
    FloatAdd, FloatCompare, FloatConvert, FloatDivide, FloatExp, FloatFma, FloatFormat, FloatFromInt, FloatMul,
    FloatReciprocal, FloatRsqrt, FloatSigmoid, FloatSqrt, FloatTable, FloatToInt,
};
use hdl::lang::{CatalogBlock, Parameters};
use sim::kit::MakeBench;
use sim::kit::options;
use test_tag::tag;
use testbenches::common::float;

/// Products around the smallest normal number in fp16: of 31,743 positive numbers with eight factors each.
const AT_THE_LIMIT: u64 = 8 * 31_743;

fn all<B: CatalogBlock>(bench: MakeBench<B>, vectors: u64) {
    for report in sim::kit::run_all(bench, &options(vectors)).unwrap() {
        assert!(report.compared >= 2 * vectors, "{report:?}");
    }
}

fn many<B: CatalogBlock>(bench: MakeBench<B>, block: &B, vectors: u64) {
    let report = sim::kit::run(block, bench, &options(vectors)).unwrap();
    assert!(report.compared >= 2 * vectors, "{report:?}");
}

/// Every number of stages of every unit, in a small format.
#[tag(release)]
#[test]
#[ignore = "builds some hundred models"]
fn every_number_of_stages() {
    let format = FloatFormat::E5m2;
    let vectors = 70_000;
    let mut runs = 0;
    for stages in 0.. {
        let mut legal = 0;
        let mut run = |result: Option<()>| legal += u32::from(result.is_some());
        let add = FloatAdd { format, stages, subtract: true, flags: true, ..FloatAdd::default() };
        run(add.check().is_ok().then(|| many(float::add::bench, &add, vectors)));
        let mul = FloatMul { format, stages, flags: true, ..FloatMul::default() };
        run(mul.check().is_ok().then(|| many(float::mul::bench, &mul, vectors)));
        for fused in [true, false] {
            let fma = FloatFma { format, fused, stages, flags: true, ..FloatFma::default() };
            run(fma.check().is_ok().then(|| many(float::fma::bench, &fma, vectors)));
        }
        let from_int = FloatFromInt { stages, flags: true, ..FloatFromInt::default() };
        run(from_int.check().is_ok().then(|| many(float::from_int::bench, &from_int, vectors)));
        let compare = FloatCompare { format, stages, ..FloatCompare::default() };
        run(compare.check().is_ok().then(|| many(float::compare::bench, &compare, vectors)));
        let convert = FloatConvert { stages, flags: true, ..FloatConvert::default() };
        run(convert.check().is_ok().then(|| many(float::convert::bench, &convert, vectors)));
        let sqrt = FloatSqrt { format, stages, flags: true, ..FloatSqrt::default() };
        run(sqrt.check().is_ok().then(|| many(float::sqrt::bench, &sqrt, vectors)));
        let divide = FloatDivide { format, stages, flags: true, ..FloatDivide::default() };
        run(divide.check().is_ok().then(|| many(float::divide::bench, &divide, vectors)));
        let reciprocal = FloatReciprocal { format, stages, flags: true, ..FloatReciprocal::default() };
        run(reciprocal.check().is_ok().then(|| many(float::reciprocal::bench, &reciprocal, vectors)));
        let rsqrt = FloatRsqrt { format, stages, flags: true, ..FloatRsqrt::default() };
        run(rsqrt.check().is_ok().then(|| many(float::rsqrt::bench, &rsqrt, vectors)));
        let exp = FloatExp { format, stages, flags: true, ..FloatExp::default() };
        run(exp.check().is_ok().then(|| many(float::exp::bench, &exp, vectors)));
        let sigmoid = FloatSigmoid { format, stages, flags: true, ..FloatSigmoid::default() };
        run(sigmoid.check().is_ok().then(|| many(float::sigmoid::bench, &sigmoid, vectors)));
        let table = FloatTable { format, stages, flags: true, ..FloatTable::default() };
        run(table.check().is_ok().then(|| many(float::table::bench, &table, vectors)));
        let to_int = FloatToInt { stages, flags: true, ..FloatToInt::default() };
        run(to_int.check().is_ok().then(|| many(float::to_int::bench, &to_int, vectors)));
        runs += legal;
        if legal == 0 {
            break;
        }
    }
    assert_eq!(runs, (5 + 5 + 11 + 10 + 3 + 2 + 3) + (5 + 8 + 6 + 5 + 11 + 13 + 16 + 3));
}
