//! Units that work on rows: all registered configurations, broken ones, and real rows against exact arithmetic.

use golden::common::row::{
    Distance, distance, exact_layer_norm, exact_rms_norm, exact_softmax, layer_norm, nearest, rms_norm, softmax, units,
};
use half::f16;
use hdl::blocks::common::stream::FifoStorage;
use hdl::blocks::common::{LayerNorm, RmsNorm, RowFrame, Softmax};
use num_bigint::BigInt;
use sim::fault::Fault;
use sim::stimulus::{Tensor, data_folder, real_rows};
use testbenches::common::row;
use testbenches::faults::must_be_noticed;
use testbenches::{options, run_all};

macro_rules! all_configurations {
    ($($test:ident $block:ident $bench:path;)*) => {$(
        #[test]
        fn $test() {
            let options = options(200);
            run_all::<$block>($bench, &options).unwrap_or_else(|e| panic!("{e:#}"));
        }
    )*};
}
all_configurations! {
    row_frame RowFrame row::row_frame::bench;
    rms_norm_rows RmsNorm row::rms_norm::bench;
    layer_norm_rows LayerNorm row::layer_norm::bench;
    softmax_rows Softmax row::softmax::bench;
}

#[test]
fn broken_frames_are_noticed() {
    let block = RowFrame {
        width: 32,
        lanes: 2,
        max_beats: 3,
        buffer: 4,
        row_width: 5,
        result_width: 16,
        output_width: 32,
        preparation: 2,
        kept_width: 32,
        analysis: 3,
        scaling: 2,
        storage: FifoStorage::Registers,
    };
    let faults = [
        ("a wrong count passes", Fault::net("wrong", "1'b0")),
        ("a row too long is not cut", Fault::net("full", "1'b0")),
        ("the rest of a row that was cut comes in", Fault::net("store", "fire")),
        ("a cut is not told", Fault::net("cut", "1'b0").into("beat_error_1_q")),
        ("beats enter a full buffer", Fault::net("room", "1'b1")),
        ("an answer is for a beat", Fault::net("ends_row", "1'b1")),
    ];
    must_be_noticed(&block, row::row_frame::bench, 150, &faults);
}

#[test]
fn broken_rms_norms_are_noticed() {
    let block = RmsNorm { lanes: 2, max_beats: 3, buffer: 4, gain: true, storage: FifoStorage::Registers };
    let faults = [
        ("unused lanes count", Fault::net("counts", "!x_special").module("square_lane")),
        ("odd exponents are even", Fault::net("odd", "1'b0").module("inverse_root")),
        ("a digit of the root is lost", Fault::net("digit_12", "1'b0").module("inverse_root")),
        ("subnormal results are not placed", Fault::net("round_low", "1'b0").module("scale_lane")),
        ("a NaN is normalised", Fault::net("special", "1'b0").module("square_lane")),
    ];
    must_be_noticed(&block, row::rms_norm::bench, 150, &faults);
}

#[test]
fn broken_layer_norms_are_noticed() {
    let block = LayerNorm { lanes: 2, max_beats: 3, buffer: 4, affine: true, storage: FifoStorage::Registers };
    let faults = [
        ("unused lanes count", Fault::net("counts", "!x_special")),
        ("a difference has the sign of its element", Fault::net("negative", "1'b0").module("centre_lane")),
        ("a sum is not divided", Fault::net("below", "1'b0").module("inverse_root")),
    ];
    must_be_noticed(&block, row::layer_norm::bench, 150, &faults);
}

#[test]
fn broken_softmaxes_are_noticed() {
    let block = Softmax { lanes: 2, max_beats: 3, buffer: 4, storage: FifoStorage::Registers };
    let faults = [
        ("the sum is not shifted when the maximum grows", Fault::net("shifted", "total_q")),
        ("beats keep the maximum of their time", Fault::net("since", "18'd0")),
        ("what is masked counts", Fault::net("nothing", "x_special").module("power_lane")),
        ("NaN is a number", Fault::net("undefined", "1'b0").module("power_lane")),
        ("a mask lasts a beat", Fault::net("rest", "length_i")),
    ];
    must_be_noticed(&block, row::softmax::bench, 150, &faults);
}

fn rows(name: &str) -> Vec<Vec<u16>> {
    let rows = real_rows(name).unwrap_or_else(|e| panic!("{e}"));
    rows.iter().map(|row| row.iter().map(|&x| x as u16).collect()).collect()
}

fn gains(name: &str) -> Vec<u16> {
    let path = data_folder().join(format!("{name}.npy"));
    let tensor: Tensor<f32> = Tensor::read(&path).unwrap_or_else(|e| panic!("{e}"));
    tensor.data.iter().map(|&x| f16::from_f32(x).to_bits()).collect()
}

fn largest(got: &[u16], exact: &[BigInt]) -> Distance {
    got.iter().zip(exact).map(|(&got, exact)| distance(got, exact)).fold(Distance::default(), Distance::or)
}

/// 10^-5 in units of 2^-48.
const EPSILON: u64 = 2_814_749_767;

/// The residual stream of a real model, with elements up to 23,380, its own gains, and what else is 576 wide.
#[test]
fn rms_norm_of_real_rows() {
    let gain = gains("l14_attn_norm");
    let mut all = Distance::default();
    for name in ["l14_attn_residual", "l02_ffn_in", "l14_attn_out", "l28_attn_in"] {
        let mut here = Distance::default();
        for x in rows(name) {
            let got = rms_norm::rms_norm(&x, Some(&gain), EPSILON).unwrap_or_else(|| panic!("{name} is undefined"));
            here = here.or(largest(&got, &exact_rms_norm(&x, &gain, EPSILON)));
        }
        println!("rms_norm of {name}: {:.4} ulp, {:.2e}, {} elements", here.ulp, here.absolute, here.count);
        all = all.or(here);
    }
    assert!(all.count == 4 * 64 * 576 && all.ulp > 0.4 && all.ulp <= 0.52, "{all:?}");
}

/// The same rows; no layer norm of this model has gains or biases of its own, so the gains are those of its other norm, and
/// the biases a row.
#[test]
fn layer_norm_of_real_rows() {
    let (gain, bias) = (gains("l14_attn_norm"), rows("l02_ffn_in")[0].clone());
    let mut all = Distance::default();
    for name in ["l14_attn_residual", "l14_attn_out", "l28_attn_in"] {
        let (mut plain, mut here) = (Distance::default(), Distance::default());
        let (one, none) = (vec![0x3c00; 576], vec![0; 576]);
        for x in rows(name) {
            let defined = |row: Option<Vec<u16>>| row.unwrap_or_else(|| panic!("{name} is undefined"));
            let got = defined(layer_norm::layer_norm(&x, None, EPSILON));
            plain = plain.or(largest(&got, &exact_layer_norm(&x, &one, &none, EPSILON)));
            let got = defined(layer_norm::layer_norm(&x, Some((&gain, &bias)), EPSILON));
            here = here.or(largest(&got, &exact_layer_norm(&x, &gain, &bias, EPSILON)));
        }
        println!("layer_norm of {name}: {:.4} ulp, {:.2e}, {} elements", plain.ulp, plain.absolute, plain.count);
        println!("with gain and bias: {:.4} ulp, {:.2e}", here.ulp, here.absolute);
        assert!(here.absolute <= 2.0 * plain.absolute, "{here:?}");
        all = all.or(plain);
    }
    assert!(all.count == 3 * 64 * 576 && all.ulp > 0.4 && all.ulp <= 0.52, "{all:?}");
}

/// Scores of the attention of a real model: q k / 8 of a token and those before it.
#[test]
fn softmax_of_real_scores() {
    let softmax = softmax::Softmax::new();
    let unit = Softmax::default();
    let mut all = Distance::default();
    for layer in ["l02", "l14", "l28"] {
        let (queries, keys) = (rows(&format!("{layer}_q")), rows(&format!("{layer}_k")));
        let mut here = Distance::default();
        // The first head; rows of its tensor are tokens.
        for (token, query) in queries[..64].iter().enumerate().step_by(3) {
            let score = |key: &Vec<u16>| {
                let value = |x: u16| {
                    let (negative, magnitude) = units(x);
                    if negative { -BigInt::from(magnitude) } else { magnitude.into() }
                };
                let sum: BigInt = query.iter().zip(key).map(|(&q, &k)| value(q) * value(k)).sum();
                nearest(sum < BigInt::ZERO, sum.magnitude(), -51)
            };
            let x: Vec<u16> = keys[..=token].iter().map(score).collect();
            let got = softmax.softmax(&x, x.len(), unit.lanes as usize, unit.places());
            here = here.or(largest(&got.values, &exact_softmax(&x)));
        }
        println!("softmax of {layer}: {:.4} ulp, {:.2e}, {} elements", here.ulp, here.absolute, here.count);
        all = all.or(here);
    }
    assert!(all.count > 2000 && all.ulp > 0.4 && all.ulp <= 0.65 && all.absolute <= 0.0004, "{all:?}");
}
