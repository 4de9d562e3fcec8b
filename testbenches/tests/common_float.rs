//! The floating-point units: all configurations, millions of operations, real weights, and broken ones.

mod fault_support;

use fault_support::must_be_found;
use hdl::blocks::common::{
    FloatAdd, FloatCompare, FloatConvert, FloatDivide, FloatExp, FloatFma, FloatFormat, FloatFromInt, FloatFunction,
    FloatMul, FloatReciprocal, FloatRsqrt, FloatSigmoid, FloatSqrt, FloatTable, FloatToInt, RoundingDirection,
    Subnormals,
};
use hdl::lang::{CatalogBlock, Parameters};
use sim::Design;
use sim::fault::Fault;
use testbenches::MakeBench;
use testbenches::common::float::{
    add, compare, convert, divide, exp, fma, from_int, mul, reciprocal, rsqrt, sigmoid, sqrt, table, to_int,
};
use testbenches::faults::must_be_noticed;
use testbenches::options;

fn all<B: CatalogBlock>(bench: MakeBench<B>, vectors: u64) {
    for report in testbenches::run_all(bench, &options(vectors)).unwrap() {
        assert!(report.compared >= 2 * vectors, "{report:?}");
    }
}

fn many<B: CatalogBlock>(bench: MakeBench<B>, block: &B, vectors: u64) {
    let report = testbenches::run(block, bench, &options(vectors)).unwrap();
    assert!(report.compared >= 2 * vectors, "{report:?}");
}

#[test]
fn add_in_all_configurations() {
    all(add::bench, 200_000);
}

/// All pairs of corner values, both operations, and more than two million random pairs.
#[test]
fn add_millions() {
    let block = FloatAdd { subtract: true, flags: true, ..FloatAdd::default() };
    many(add::bench, &block, 2_200_000);
}

#[test]
fn mul_in_all_configurations() {
    all(mul::bench, 200_000);
}

#[test]
fn mul_millions() {
    many(mul::bench, &FloatMul { flags: true, ..FloatMul::default() }, 2_200_000);
}

/// All pairs of the 8-bit format, corner pairs and random ones in fp16, in each direction.
#[test]
fn mul_in_all_directions() {
    for &rounding in RoundingDirection::ALL {
        for subnormals in [Subnormals::Ieee, Subnormals::Flush] {
            let block = FloatMul { rounding, subnormals, flags: true, ..FloatMul::default() };
            many(mul::bench, &block, 200_000);
            many(mul::bench, &FloatMul { format: FloatFormat::E5m2, ..block }, 100_000);
        }
    }
}

#[test]
fn faults_in_directed_mul_are_found() {
    let up = FloatMul { rounding: RoundingDirection::Up, flags: true, ..FloatMul::default() };
    must_be_noticed(
        &up,
        mul::bench,
        40_000,
        &[
            ("negative products are rounded away from zero", Fault::net("up", "significand[0] | sticky")),
            ("a guard bit alone is nothing", Fault::net("up", "right & sticky")),
            ("what is too large is an infinity", Fault::net("largest", "1'b0")),
            ("the largest number does not overflow", Fault::net("overflow", "right & !largest")),
        ],
    );
}

#[test]
fn fma_in_all_configurations() {
    // More than all triples of 6-bit floats.
    all(fma::bench, 400_000);
}

/// Corner triples and more than five million random ones.
#[test]
fn fma_millions() {
    many(fma::bench, &FloatFma { flags: true, ..FloatFma::default() }, 5_600_000);
}

#[test]
fn from_int_in_all_configurations() {
    // More than all integers of 17 bits.
    all(from_int::bench, 200_000);
}

#[test]
fn compare_in_all_configurations() {
    // More than all pairs of 8-bit floats.
    all(compare::bench, 100_000);
}

/// All 16-bit values beside all corner values.
#[test]
fn compare_fp16() {
    many(compare::bench, &FloatCompare::default(), 12_500_000);
}

#[test]
fn convert_in_all_configurations() {
    // More than all values of 16 bits.
    all(convert::bench, 150_000);
}

/// All high halves of binary32 with all that rounding to fp16 tells apart below.
#[test]
fn convert_fp32_to_fp16() {
    many(convert::bench, &FloatConvert { flags: true, ..FloatConvert::default() }, 6_400_000);
}

#[test]
fn sqrt_in_all_configurations() {
    // More than all values of 16 bits.
    all(sqrt::bench, 100_000);
}

#[test]
fn reciprocal_in_all_configurations() {
    all(reciprocal::bench, 100_000);
}

#[test]
fn rsqrt_in_all_configurations() {
    all(rsqrt::bench, 100_000);
}

#[test]
fn exp_in_all_configurations() {
    all(exp::bench, 100_000);
}

#[test]
fn sigmoid_in_all_configurations() {
    all(sigmoid::bench, 100_000);
}

#[test]
fn table_in_all_configurations() {
    all(table::bench, 100_000);
}

/// All operands of each function, with and without subnormal numbers.
#[test]
fn table_of_all_functions() {
    for &function in FloatFunction::ALL {
        for format in [FloatFormat::Fp16, FloatFormat::Bf16, FloatFormat::E5m2, FloatFormat::E3m2] {
            many(table::bench, &FloatTable { function, format, flags: true, ..FloatTable::default() }, 70_000);
        }
    }
}

#[test]
fn faults_in_tables_are_found() {
    must_be_noticed(
        &FloatSigmoid { flags: true, ..FloatSigmoid::default() },
        sigmoid::bench,
        70_000,
        &[
            ("parabolas are lines", Fault::net("bend_units", "13'd0")),
            ("a unit of the last place of a height", Fault::net("height", "right - 17'd1")),
            ("positive operands are negative", Fault::net("factor", "value")),
            ("minus infinity is a number", Fault::net("huge", "1'b0")),
            ("subnormal results are one place off", Fault::net("distance_below", "right + 7'd1")),
        ],
    );
    must_be_noticed(
        &FloatTable { flags: true, ..FloatTable::default() },
        table::bench,
        70_000,
        &[
            ("results are truncated", Fault::net("up", "1'b0")),
            ("a curvature is forgotten", Fault::net("bend_units", "15'd0")),
            ("the scale is one too large", Fault::net("scale", "right + 5'd1")),
            ("small products stay", Fault::net("low_half", "1'b0")),
        ],
    );
}

/// Wider formats are refused, and the error says what would be right.
#[test]
fn tables_of_wide_formats_are_refused() {
    let sigmoid = FloatSigmoid { format: FloatFormat::Fp32, ..FloatSigmoid::default() };
    let table = FloatTable { format: FloatFormat::Fp32, ..FloatTable::default() };
    for error in [sigmoid.check().unwrap_err().to_string(), table.check().unwrap_err().to_string()] {
        assert!(error.contains("fp32") && error.contains("a format of at most 16 bits"), "{error}");
    }
}

#[test]
fn to_int_in_all_configurations() {
    all(to_int::bench, 100_000);
}

/// All 65,536 operands in each direction, to an integer that is too narrow for most and one that is not.
#[test]
fn to_int_in_all_directions() {
    for &rounding in RoundingDirection::ALL {
        for (width, signed) in [(8, true), (16, false)] {
            many(to_int::bench, &FloatToInt { width, signed, rounding, flags: true, ..FloatToInt::default() }, 66_000);
        }
    }
}

#[test]
fn divide_in_all_configurations() {
    // More than all pairs of 8-bit floats.
    all(divide::bench, 100_000);
}

/// All pairs of corner values and more than two million structured pairs.
#[test]
fn divide_millions() {
    many(divide::bench, &FloatDivide { flags: true, ..FloatDivide::default() }, 2_200_000);
}

/// All products around the smallest normal number: the flags of those that are rounded up to it.
#[test]
fn fp16_around_the_smallest_normal_number() {
    // Of 31,743 positive numbers with eight factors each.
    let vectors = 8 * 31_743;
    for subnormals in [Subnormals::Ieee, Subnormals::Flush] {
        many(mul::at_the_limit, &FloatMul { subnormals, flags: true, ..FloatMul::default() }, vectors);
    }
    for fused in [true, false] {
        many(fma::at_the_limit, &FloatFma { fused, flags: true, ..FloatFma::default() }, vectors);
    }
}

/// A dot product of real activations and real weights, accumulated in order: what the unit is for.
#[test]
fn real_dot_products() {
    for fused in [true, false] {
        let block = FloatFma { fused, stages: 2, ..FloatFma::default() };
        let bench = fma::dot_products(&block, "l14_down_in", "l14_w_down", 24).unwrap();
        let design = Design::from(&hdl::lang::elaborate(&block).unwrap());
        let report = sim::run(&*bench, &design, &options(24 * 1536)).unwrap();
        assert!(report.compared >= 24 * 1536, "{report:?}");
    }
}

#[test]
fn faults_in_add_are_found() {
    let block = FloatAdd { flags: true, ..FloatAdd::default() };
    must_be_noticed(
        &block,
        add::bench,
        40_000,
        &[
            ("bits shifted out are forgotten", Fault::net("align_lost", "1'b0")),
            ("a tie is rounded up", Fault::net("up", "significand[0]")),
            ("a difference of zero is negative", Fault::net("vanished", "1'b0")),
            ("infinity + infinity is undefined", Fault::net("undefined", "big_special & small_special")),
            ("the difference is one too small", Fault::net("total", "right - {15'd0, subtract}")),
        ],
    );
}

#[test]
fn faults_in_mul_are_found() {
    let block = FloatMul { flags: true, ..FloatMul::default() };
    must_be_noticed(
        &block,
        mul::bench,
        40_000,
        &[
            ("0 * infinity is infinity", Fault::net("undefined", "a_special & b_zero")),
            ("subnormal results are one place off", Fault::net("limit", "right - 7'd1")),
            ("bits shifted out are forgotten", Fault::net("align_lost", "1'b0")),
            ("very large results are not infinity", Fault::net("infinite_or", "&exponent[4:0]")),
            (
                "rounded up to a normal number, no underflow",
                Fault::net("underflow_o", "!special & !(|result_or) & !infinite_or & underflow_or"),
            ),
        ],
    );
}

#[test]
fn faults_in_fma_are_found() {
    let block = FloatFma { flags: true, stages: 2, ..FloatFma::default() };
    must_be_noticed(
        &block,
        fma::bench,
        400_000,
        &[
            ("the missing unit of a complement", Fault::net("arrives", "1'b0")),
            ("a carry although bits were lost", Fault::net("carry", "minus_1_q & !(|addend_1_q[1:0])")),
            ("the low bits are not negated", Fault::net("total", "{right[36:1], addend_1_q[0]}")),
            ("a product of zero aligns", Fault::net("far", "distance[6]")),
            ("lost bits are forgotten while rounding", Fault::net("lost_2_q", "1'b0").into("sticky")),
            (
                "rounded up to a normal number, no underflow",
                Fault::net("underflow_o", "!special_2_q & !(|result_or) & !infinite_or & underflow_choice"),
            ),
            ("valid is early", Fault::net("valid_o", "valid_1_q")),
        ],
    );
}

#[test]
fn faults_in_digits_are_found() {
    let divide = FloatDivide { flags: true, ..FloatDivide::default() };
    must_be_found(
        &divide,
        divide::bench,
        40_000,
        &[
            ("the remainder is forgotten while rounding", "align_lost | rest", "align_lost"),
            ("bits shifted out are forgotten", "align_lost | rest", "rest"),
            ("0 / 0 is infinity", "(a_zero & b_zero) |", ""),
            ("infinity / 0 is a division by zero", "!(a_zero | a_special)", "!a_zero"),
            ("subnormal results are one place off", "places = 7'd1 -", "places = 7'd2 -"),
        ],
    );
    let reciprocal = FloatReciprocal { flags: true, ..FloatReciprocal::default() };
    must_be_found(
        &reciprocal,
        reciprocal::bench,
        70_000,
        &[
            ("powers of two are inexact", "& !power_of_two", ""),
            ("two places below normal numbers is one", "{2'd0, quotient_12[11:2]}", "{1'd0, quotient_12[11:1]}"),
            ("infinity is a large number", "!infinite_operand", "1'b1"),
        ],
    );
    let rsqrt = FloatRsqrt { flags: true, ..FloatRsqrt::default() };
    must_be_found(
        &rsqrt,
        rsqrt::bench,
        70_000,
        &[
            ("the root of minus 0 is NaN", "!(nan_operand | zero)", "!nan_operand"),
            ("powers of four are one unit low", "!(odd | |fraction)", "1'b0"),
            ("the slope is forgotten", "fall = slope", "fall = 1'b0"),
        ],
    );
    let sqrt = FloatSqrt { flags: true, ..FloatSqrt::default() };
    must_be_found(
        &sqrt,
        sqrt::bench,
        70_000,
        &[
            ("the root of -0 is NaN", "!(nan_operand | zero)", "!nan_operand"),
            ("a row subtracts one too little", "{root_5, 2'd1}", "{root_5, 2'd0}"),
            ("exact roots are inexact", "| |remainder_12", "| 1'b1"),
        ],
    );
}

#[test]
fn faults_in_exp_are_found() {
    must_be_noticed(
        &FloatExp { flags: true, ..FloatExp::default() },
        exp::bench,
        70_000,
        &[
            ("a unit of the last place of log2 e", Fault::net("product", "right - {21'd0, a_significand}")),
            ("negative logarithms are one higher", Fault::net("logarithm", "right + {20'd0, negative}")),
            ("lines are steps", Fault::net("above", "20'd0")),
            ("minus infinity is a number", Fault::net("kept", "1'b1")),
            ("subnormal results are one place off", Fault::net("distance", "right + 7'd1")),
        ],
    );
}

#[test]
fn faults_in_the_others_are_found() {
    let from_int = FloatFromInt { flags: true, ..FloatFromInt::default() };
    must_be_noticed(
        &from_int,
        from_int::bench,
        40_000,
        &[
            ("the missing unit of a negative integer", Fault::net("arrives", "1'b0")),
            ("overflow is not said", Fault::net("overflow_o", "1'b0")),
        ],
    );
    must_be_found(
        &FloatToInt { width: 8, flags: true, ..FloatToInt::default() },
        to_int::bench,
        70_000,
        &[
            ("ties are rounded up", "(more | placed[1])", "1'b1"),
            ("minus one half is rounded twice", "negative ^ up", "negative"),
            ("a NaN is the greatest integer", "nan ? 8'd0", "1'b0 ? 8'd0"),
        ],
    );
    must_be_noticed(
        &FloatCompare { format: FloatFormat::E5m2, ..FloatCompare::default() },
        compare::bench,
        70_000,
        &[
            ("-0 < +0", Fault::net("less", "total_less & !unordered")),
            ("negative numbers the wrong way round", Fault::net("total_less", "a_sign & b_sign ? below : right")),
        ],
    );
    must_be_noticed(
        &FloatConvert { flags: true, ..FloatConvert::default() },
        convert::bench,
        40_000,
        &[
            ("subnormal results are one place off", Fault::net("distance", "right + 9'd1")),
            ("the quiet bit of a signalling NaN", Fault::net("result", "{right[15:10], result_and[9], right[8:0]}")),
            (
                "rounded up to a normal number, no underflow",
                Fault::net("underflow_o", "!a_special & !(|result_or) & !infinite_or & underflow_or"),
            ),
        ],
    );
}

/// Every number of stages of every unit, in a small format.
#[test]
#[ignore = "builds some fifty models"]
fn large_every_number_of_stages() {
    let format = FloatFormat::E5m2;
    let vectors = 70_000;
    let mut runs = 0;
    for stages in 0.. {
        let mut legal = 0;
        let mut run = |result: Option<()>| legal += u32::from(result.is_some());
        let add = FloatAdd { format, stages, subtract: true, flags: true, ..FloatAdd::default() };
        run(add.check().is_ok().then(|| many(add::bench, &add, vectors)));
        let mul = FloatMul { format, stages, flags: true, ..FloatMul::default() };
        run(mul.check().is_ok().then(|| many(mul::bench, &mul, vectors)));
        for fused in [true, false] {
            let fma = FloatFma { format, fused, stages, flags: true, ..FloatFma::default() };
            run(fma.check().is_ok().then(|| many(fma::bench, &fma, vectors)));
        }
        let from_int = FloatFromInt { stages, flags: true, ..FloatFromInt::default() };
        run(from_int.check().is_ok().then(|| many(from_int::bench, &from_int, vectors)));
        let compare = FloatCompare { format, stages, ..FloatCompare::default() };
        run(compare.check().is_ok().then(|| many(compare::bench, &compare, vectors)));
        let convert = FloatConvert { stages, flags: true, ..FloatConvert::default() };
        run(convert.check().is_ok().then(|| many(convert::bench, &convert, vectors)));
        let sqrt = FloatSqrt { format, stages, flags: true, ..FloatSqrt::default() };
        run(sqrt.check().is_ok().then(|| many(sqrt::bench, &sqrt, vectors)));
        let divide = FloatDivide { format, stages, flags: true, ..FloatDivide::default() };
        run(divide.check().is_ok().then(|| many(divide::bench, &divide, vectors)));
        let reciprocal = FloatReciprocal { format, stages, flags: true, ..FloatReciprocal::default() };
        run(reciprocal.check().is_ok().then(|| many(reciprocal::bench, &reciprocal, vectors)));
        let rsqrt = FloatRsqrt { format, stages, flags: true, ..FloatRsqrt::default() };
        run(rsqrt.check().is_ok().then(|| many(rsqrt::bench, &rsqrt, vectors)));
        let exp = FloatExp { format, stages, flags: true, ..FloatExp::default() };
        run(exp.check().is_ok().then(|| many(exp::bench, &exp, vectors)));
        let sigmoid = FloatSigmoid { format, stages, flags: true, ..FloatSigmoid::default() };
        run(sigmoid.check().is_ok().then(|| many(sigmoid::bench, &sigmoid, vectors)));
        let table = FloatTable { format, stages, flags: true, ..FloatTable::default() };
        run(table.check().is_ok().then(|| many(table::bench, &table, vectors)));
        let to_int = FloatToInt { stages, flags: true, ..FloatToInt::default() };
        run(to_int.check().is_ok().then(|| many(to_int::bench, &to_int, vectors)));
        runs += legal;
        if legal == 0 {
            break;
        }
    }
    assert_eq!(runs, (5 + 4 + 6 + 9 + 2 + 2 + 2) + (5 + 6 + 5 + 4 + 6 + 8 + 9 + 3));
}

/// Twenty million triples in each of the wider formats.
#[test]
#[ignore = "minutes"]
fn large_fma() {
    for format in [FloatFormat::Fp16, FloatFormat::Bf16, FloatFormat::Fp32] {
        many(fma::bench, &FloatFma { format, flags: true, ..FloatFma::default() }, 20_000_000);
    }
}
