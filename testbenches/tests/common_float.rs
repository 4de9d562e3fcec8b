//! The floating-point units: all configurations, millions of operations, real weights, and broken ones.

use hdl::blocks::common::{
    FloatAdd, FloatCompare, FloatConvert, FloatDivide, FloatExp, FloatFma, FloatFormat, FloatFromInt, FloatMul,
    FloatReciprocal, FloatRsqrt, FloatSqrt, FloatToInt, RoundingDirection, Subnormals,
};
use hdl::lang::{CatalogBlock, Parameters};
use sim::{Design, RunOptions};
use testbenches::MakeBench;
use testbenches::common::float::{
    add, compare, convert, divide, exp, fma, from_int, mul, reciprocal, rsqrt, sqrt, to_int,
};
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
fn to_int_in_all_configurations() {
    all(to_int::bench, 100_000);
}

/// All 65,536 operands in each direction, to an integer that is too narrow for most and one that is not.
#[test]
fn to_int_in_all_directions() {
    use RoundingDirection::{Down, NearestEven, TowardZero, Up};
    for rounding in [NearestEven, TowardZero, Down, Up] {
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

/// Every deliberate fault in the hardware must be seen.
fn faults<B: CatalogBlock>(bench: MakeBench<B>, block: &B, vectors: u64, faults: &[(&str, &str, &str)]) {
    let whole = Design::from(&hdl::lang::elaborate(block).unwrap());
    for (what, right, wrong) in faults {
        let mut design = whole.clone();
        let mut changed = 0;
        for file in &mut design.files {
            changed += file.text.matches(right).count();
            file.text = file.text.replace(right, wrong);
        }
        assert!(changed > 0, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap();
        // With waveforms from the start, so that nothing is built twice.
        let (trace, waves) = (sim::Trace::Vcd, Some(waves.path().into()));
        let options = RunOptions { vectors, trace, waves, ..RunOptions::default() };
        let error = sim::run(&*bench(block).unwrap(), &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}

#[test]
fn faults_in_add_are_found() {
    let block = FloatAdd { flags: true, ..FloatAdd::default() };
    faults(
        add::bench,
        &block,
        40_000,
        &[
            ("bits shifted out are forgotten", "{align_kept, align_lost}", "{align_kept, 1'b0}"),
            ("a tie is rounded up", "& (significand[1] | sticky)", ""),
            ("a difference of zero is negative", "sign & !vanished", "sign"),
            ("infinity + infinity is undefined", "small_special & subtract", "small_special"),
            ("the difference is one too small", "subtract};", "1'b0};"),
        ],
    );
}

#[test]
fn faults_in_mul_are_found() {
    let block = FloatMul { flags: true, ..FloatMul::default() };
    faults(
        mul::bench,
        &block,
        40_000,
        &[
            ("0 * infinity is infinity", "| (b_special & a_zero)", ""),
            ("subnormal results are one place off", "7'd26 - exponents", "7'd25 - exponents"),
            ("bits shifted out are forgotten", "wire sticky = align_lost |", "wire sticky ="),
            ("very large results are not infinity", "&exponent[4:0] | exponent[5]", "&exponent[4:0]"),
            ("rounded up to a normal number, no underflow", "& !(|exponent[4:0]) &", "& !(|result_or) &"),
        ],
    );
}

#[test]
fn faults_in_fma_are_found() {
    let block = FloatFma { flags: true, stages: 2, ..FloatFma::default() };
    faults(
        fma::bench,
        &block,
        400_000,
        &[
            ("the missing unit of a complement", "& all_below", "& 1'b0"),
            ("a carry although bits were lost", "addend_1_q[1] | lost_1_q)", "addend_1_q[1])"),
            ("the low bits are not negated", "^ (minus_1_q & lost_1_q)", ""),
            ("a product of zero aligns", "| a_zero | b_zero", ""),
            ("lost bits are forgotten while rounding", "any_below | lost", "any_below | 1'b0 & lost"),
            ("rounded up to a normal number, no underflow", "& !(|rounded_bits) &", "& !(|result_or) &"),
            ("valid is late", "assign valid_o = valid_2_q;", "assign valid_o = valid_1_q;"),
        ],
    );
}

#[test]
fn faults_in_digits_are_found() {
    let divide = FloatDivide { flags: true, ..FloatDivide::default() };
    faults(
        divide::bench,
        &divide,
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
    faults(
        reciprocal::bench,
        &reciprocal,
        70_000,
        &[
            ("powers of two are inexact", "& !power_of_two", ""),
            ("two places below normal numbers is one", "{2'd0, quotient_12[11:2]}", "{1'd0, quotient_12[11:1]}"),
            ("infinity is a large number", "!infinite_operand", "1'b1"),
        ],
    );
    let rsqrt = FloatRsqrt { flags: true, ..FloatRsqrt::default() };
    faults(
        rsqrt::bench,
        &rsqrt,
        70_000,
        &[
            ("the root of minus 0 is NaN", "!(nan_operand | zero)", "!nan_operand"),
            ("powers of four are one unit low", "!(odd | |fraction)", "1'b0"),
            ("the slope is forgotten", "fall = slope", "fall = 1'b0"),
        ],
    );
    let sqrt = FloatSqrt { flags: true, ..FloatSqrt::default() };
    faults(
        sqrt::bench,
        &sqrt,
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
    faults(
        exp::bench,
        &FloatExp { flags: true, ..FloatExp::default() },
        70_000,
        &[
            ("a unit of the last place of log2 e", "21'd1512775", "21'd1512774"),
            (
                "negative logarithms are one higher",
                "magnitude ^ {21{negative}}",
                "(magnitude ^ {21{negative}}) + negative",
            ),
            ("lines are steps", "above = rise * low", "above = 1'b0"),
            ("minus infinity is a number", "(huge & negative) | nothing", "1'b0"),
            ("subnormal results are one place off", "distance = 7'd1", "distance = 7'd2"),
        ],
    );
}

#[test]
fn faults_in_the_others_are_found() {
    let from_int = FloatFromInt { flags: true, ..FloatFromInt::default() };
    faults(
        from_int::bench,
        &from_int,
        40_000,
        &[
            ("the missing unit of a negative integer", "& all_below", "& 1'b0"),
            ("overflow is not said", "assign overflow_o = ", "assign overflow_o = 1'b0 & "),
        ],
    );
    faults(
        to_int::bench,
        &FloatToInt { width: 8, flags: true, ..FloatToInt::default() },
        70_000,
        &[
            ("ties are rounded up", "(more | placed[1])", "1'b1"),
            ("minus one half is rounded twice", "negative ^ up", "negative"),
            ("a NaN is the greatest integer", "nan ? 8'd0", "1'b0 ? 8'd0"),
        ],
    );
    faults(
        compare::bench,
        &FloatCompare { format: FloatFormat::E5m2, ..FloatCompare::default() },
        70_000,
        &[
            ("-0 < +0", "& !(unordered | zeros)", "& !unordered"),
            ("negative numbers the wrong way round", "!(below | same) : below", "below : below"),
        ],
    );
    faults(
        convert::bench,
        &FloatConvert { flags: true, ..FloatConvert::default() },
        40_000,
        &[
            ("subnormal results are one place off", "9'd113", "9'd112"),
            ("the quiet bit of a signalling NaN", "result_and[9] | nan", "result_and[9]"),
            ("rounded up to a normal number, no underflow", "& !(|rounded_bits) &", "& !(|result_or) &"),
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
        let to_int = FloatToInt { stages, flags: true, ..FloatToInt::default() };
        run(to_int.check().is_ok().then(|| many(to_int::bench, &to_int, vectors)));
        runs += legal;
        if legal == 0 {
            break;
        }
    }
    assert_eq!(runs, (5 + 4 + 6 + 9 + 2 + 2 + 2) + (5 + 6 + 5 + 4 + 6 + 3));
}

/// Twenty million triples in each of the wider formats.
#[test]
#[ignore = "minutes"]
fn large_fma() {
    for format in [FloatFormat::Fp16, FloatFormat::Bf16, FloatFormat::Fp32] {
        many(fma::bench, &FloatFma { format, flags: true, ..FloatFma::default() }, 20_000_000);
    }
}
