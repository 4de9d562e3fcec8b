//! The paper's walking example, worked cases, and equation 1 against equation 2 on random groups.

use proptest::prelude::*;

use super::accumulator::{Accumulator, Overflow};
use super::calibration::{Calibration, Scheme, Sign, Weights, calibrate};
use super::granularity::{Granularity, product, relative_error, round_trip};
use super::matmul::{dequantize, explicit_sum, group_products, requantized_sum, tender_product};
use super::multi_scale_array::{Beat, narrow, wide};
use super::schedule::{Step, steps};

fn scheme(bits: u32, groups: usize) -> Scheme {
    Scheme::new(bits, groups, Sign::Signed).unwrap()
}

/// Two rows, one the negative of the other: there is no bias, and `c_max` has the largest absolute values.
fn mirrored(c_max: &[f64]) -> Vec<Vec<f64>> {
    vec![c_max.to_vec(), c_max.iter().map(|x| -x).collect()]
}

/// Section III-B and figure 4: six channels, the second one with the largest absolute value, 22.4. The values of the
/// other channels are ours; their groups are the paper's.
#[test]
fn walking_example() {
    let rows = mirrored(&[3.1, 22.4, 5.6, 8.0, 0.3, 11.2]);
    for (bits, k) in [(8, 127.0), (4, 7.0)] {
        let calibration = Calibration::of(&rows, scheme(bits, 3)).unwrap();
        assert_eq!(calibration.scales, [22.4 / k, 11.2 / k, 5.6 / k]);
        // A1: channel 2. A2: channels 4 and 6. A3: channels 1, 3 and 5. (The text counts from 1.)
        assert_eq!(calibration.group, [2, 0, 2, 1, 2, 1]);
        assert_eq!(calibration.order(), [1, 3, 5, 0, 2, 4]);
        assert_eq!(calibration.sizes(), [1, 2, 3]);
        let largest = k as i64;
        let quantized = calibration.quantize(&rows[0]);
        assert_eq!((quantized[1], quantized[5], quantized[2]), (largest, largest, largest), "{bits} bits");
    }
    let calibration = Calibration::of(&rows, scheme(4, 3)).unwrap();
    // 8.0 / (11.2 / 7) = 5, 3.1 / (5.6 / 7) = 3.875, 0.3 / 0.8 = 0.375.
    assert_eq!(calibration.quantize(&rows[0]), [4, 7, 7, 5, 0, 7]);
    use Step::{Channel, Rescale};
    let expected = [Channel(1), Rescale(1), Channel(3), Channel(5), Rescale(1), Channel(0), Channel(2), Channel(4)];
    assert_eq!(steps(&calibration, 1), expected);
}

#[test]
fn bias_is_the_middle_of_the_range() {
    let rows = vec![vec![1.0, -3.0], vec![5.0, -3.0], vec![2.0, 1.0]];
    let calibration = Calibration::of(&rows, scheme(8, 2)).unwrap();
    assert_eq!(
        (calibration.bias.as_slice(), calibration.group.as_slice()),
        ([3.0, -1.0].as_slice(), [0, 0].as_slice())
    );
    // The second group has no channel and is dropped.
    assert_eq!(calibration.scales, [2.0 / 127.0]);
    assert_eq!(calibration.quantize(&rows[2]), [-64, 127]);
}

#[test]
fn zeros_are_legal() {
    let calibration = Calibration::of(&vec![vec![0.0; 3]; 2], scheme(4, 4)).unwrap();
    assert_eq!((calibration.scales.last(), calibration.group.as_slice()), (Some(&1.0), [3, 3, 3].as_slice()));
    assert_eq!(calibration.quantize(&[0.0; 3]), [0; 3]);
    // A channel that never changes costs nothing: its value is the bias.
    let constant = Calibration::of(&vec![vec![7.5]; 3], scheme(4, 2)).unwrap();
    assert_eq!(constant.dequantize(&constant.quantize(&[7.5])), [7.5]);
}

#[test]
fn a_partial_chunk_has_its_real_rows_only() {
    let rows: Vec<Vec<f64>> = (0..300).map(|r| vec![f64::from(r), 1.0]).collect();
    let chunks = calibrate(&rows, 256, scheme(8, 1)).unwrap();
    assert_eq!(chunks.len(), 2);
    assert_eq!((chunks[0].bias[0], chunks[1].bias[0]), (127.5, (256.0 + 299.0) / 2.0));
    assert_eq!(chunks[1], Calibration::of(&rows[256..], scheme(8, 1)).unwrap());
    assert!(calibrate(&rows, 257, scheme(8, 1)).is_err());
}

#[test]
fn unsigned_operands_have_no_bias_and_all_bits() {
    let rows = vec![vec![0.0, 0.25, 1.0], vec![0.5, 0.1, 0.9]];
    let calibration = Calibration::of(&rows, Scheme::new(4, 3, Sign::Unsigned).unwrap()).unwrap();
    assert_eq!(calibration.bias, [0.0; 3]);
    assert_eq!(calibration.group, [1, 2, 0]);
    assert_eq!(calibration.scales, [1.0 / 15.0, 1.0 / 30.0, 1.0 / 60.0]);
    assert_eq!(calibration.quantize(&rows[1]), [15, 6, 14]);
    assert!(Calibration::of(&[vec![-0.5]], Scheme::new(4, 1, Sign::Unsigned).unwrap()).is_err());
}

#[test]
fn refusals_name_the_value() {
    assert_eq!(Scheme::new(9, 1, Sign::Signed).unwrap_err(), "bits is 9, allowed: 2 to 8");
    assert_eq!(Scheme::new(4, 0, Sign::Signed).unwrap_err(), "groups is 0, allowed: 1 to 32");
    assert!(Calibration::of(&[vec![f64::NAN]], scheme(4, 1)).unwrap_err().contains("NaN"));
    assert!(
        Calibration::of(&[], scheme(4, 1)).is_err() && Calibration::of(&[vec![1.0], vec![]], scheme(4, 1)).is_err()
    );
}

#[test]
fn consecutive_empty_groups_are_consecutive_rescales() {
    let calibration = Calibration::of(&mirrored(&[16.0, 1.0, 1.5]), scheme(4, 8)).unwrap();
    assert_eq!(calibration.sizes(), [1, 0, 0, 1, 1]);
    use Step::{Channel, Rescale};
    let single = [Channel(0), Rescale(1), Rescale(1), Rescale(1), Channel(2), Rescale(1), Channel(1)];
    assert_eq!(steps(&calibration, 1), single);
    let double = [Channel(0), Rescale(2), Rescale(1), Channel(2), Rescale(1), Channel(1)];
    assert_eq!(steps(&calibration, 2), double);
}

#[test]
fn weights_have_one_scale_a_column() {
    let weights = Weights::quantize(&[vec![0.7, -2.0, 0.0], vec![-0.35, 1.0, 0.0]], 4).unwrap();
    assert_eq!(weights.values, [[7, -7, 0], [-4, 4, 0]]);
    assert_eq!(weights.scales, [0.7 / 7.0, 2.0 / 7.0, 1.0]);
}

#[test]
fn one_group_without_bias_is_per_tensor() {
    let rows = mirrored(&[1.0, 7.3, 0.2, 2.9]);
    let calibration = Calibration::of(&rows, scheme(6, 1)).unwrap();
    let back: Vec<_> = rows.iter().map(|row| calibration.dequantize(&calibration.quantize(row))).collect();
    assert!(relative_error(&round_trip(&rows, 6, Granularity::Tensor), &back) < 1e-28);
}

/// Every signed and unsigned operand of 8 bits, split into nibbles, with rescales. Without overflow the four sums make
/// the exact sum.
#[test]
fn four_nibble_sums_are_one_sum_of_bytes() {
    let values: Vec<i64> = (-128..256).collect();
    let beats: Vec<Beat> = values
        .iter()
        .map(|&x| Beat::Multiply { act: vec![x], weight: vec![(x * 37 + 11).rem_euclid(256) - 128] })
        .flat_map(|beat| [beat, Beat::Rescale(1)].into_iter().take(if values.len() > 300 { 1 } else { 2 }))
        .chain([Beat::Rescale(3)])
        .collect();
    let exact = narrow(&beats, 0, 0, &Accumulator::new(64, Overflow::Wrap).unwrap());
    let split = wide(&beats, 0, 0, 4, &Accumulator::new(32, Overflow::Wrap).unwrap()).unwrap();
    assert_eq!(exact, split);
}

/// A channel that is 50 times as large as the others costs them all their bits under one scale. (Its own error stays.)
#[test]
fn groups_isolate_an_outlier() {
    let row = |r: usize| (0..16).map(|c| ((r * 7 + c * 3) % 11) as f64 - 5.0).map(|x| x * 0.1).collect::<Vec<_>>();
    let mut rows: Vec<Vec<f64>> = (0..16).map(row).collect();
    rows.iter_mut().for_each(|row| row[5] *= 50.0);
    let weights: Vec<Vec<f64>> = (0..16).map(|c| vec![1.0 / f64::from(c + 1), 0.3]).collect();
    let quantized = Weights::quantize(&weights, 8).unwrap();
    let exact = product(&rows, &quantized.dequantize());
    let error = |groups| {
        let got = tender_product(&rows, 256, scheme(4, groups), &quantized).unwrap();
        relative_error(&exact, &got)
    };
    assert!(error(8) * 2.5 < error(1), "{} {}", error(8), error(1));
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    /// Equations 1 and 2, for any groups, empty ones included.
    #[test]
    fn equations_are_equal(
        group in prop::collection::vec(0usize..9, 1..20),
        extra in 1usize..5,
        seed in prop::collection::vec(-128i64..128, 80),
    ) {
        let groups = group.iter().max().unwrap() + extra;
        let at = |i: usize| seed[i % seed.len()] - (i / seed.len()) as i64 % 3;
        let rows: Vec<Vec<i64>> = (0..3).map(|r| (0..group.len()).map(|k| at(r * group.len() + k)).collect()).collect();
        let weights: Vec<Vec<i64>> = (0..group.len()).map(|k| (0..2).map(|c| at(k * 5 + c * 31 + 7)).collect()).collect();
        let products = group_products(&rows, &weights, &group, groups);
        prop_assert_eq!(explicit_sum(&products), requantized_sum(&products));
    }

    /// The steps of a schedule, on exact accumulators, give equation 2.
    #[test]
    fn steps_compute_the_product(
        rows in prop::collection::vec(prop::collection::vec(-6i32..6, 7), 1..5),
        exponents in prop::collection::vec(0i32..12, 7),
        bits in 2u32..9,
        groups in 1usize..15,
        max_shift in 1u32..4,
    ) {
        let scaled = |(x, e): (&i32, &i32)| f64::from(*x) * 2f64.powi(-e);
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().zip(&exponents).map(scaled).collect()).collect();
        let calibration = Calibration::of(&rows, scheme(bits, groups)).unwrap();
        let quantized: Vec<_> = rows.iter().map(|row| calibration.quantize(row)).collect();
        let weights: Vec<Vec<f64>> = (0..7).map(|k| vec![f64::from(k) - 3.2, 0.7 - f64::from(k * k)]).collect();
        let w = Weights::quantize(&weights, bits).unwrap();
        let products = group_products(&quantized, &w.values, &calibration.group, calibration.scales.len());
        let sums = requantized_sum(&products);
        let beat = |step: &Step| match step {
            Step::Rescale(n) => Beat::Rescale(*n),
            Step::Channel(k) => Beat::Multiply {
                act: quantized.iter().map(|row| row[*k]).collect(),
                weight: w.values[*k].clone(),
            },
        };
        let beats: Vec<Beat> = steps(&calibration, max_shift).iter().map(beat).collect();
        let fresh = Accumulator::new(64, Overflow::Wrap).unwrap();
        for (r, row) in sums.iter().enumerate() {
            for (c, sum) in row.iter().enumerate() {
                prop_assert_eq!(narrow(&beats, r, c, &fresh), (*sum, false));
                prop_assert_eq!(wide(&beats, r, c, 4, &fresh).unwrap(), (*sum, false));
            }
        }
        // As numbers: the product of the dequantized integers, and the product of the biases.
        let back = dequantize(&sums, &calibration, &w);
        let meant: Vec<_> = quantized.iter().map(|row| calibration.dequantize(row)).collect();
        let meant = product(&meant, &w.dequantize());
        for (a, b) in back.iter().flatten().zip(meant.iter().flatten()) {
            prop_assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{} {}", a, b);
        }
    }

    /// A quantized value is never further than half a step from its activation.
    #[test]
    fn errors_are_half_a_step(
        rows in prop::collection::vec(prop::collection::vec(-2000i32..2000, 5), 1..9),
        bits in 2u32..9,
        groups in 1usize..15,
    ) {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|x| f64::from(*x) / 64.0).collect()).collect();
        let calibration = Calibration::of(&rows, scheme(bits, groups)).unwrap();
        for row in &rows {
            let back = calibration.dequantize(&calibration.quantize(row));
            for (c, (x, y)) in row.iter().zip(&back).enumerate() {
                let half = calibration.scales[calibration.group[c]] / 2.0;
                prop_assert!((x - y).abs() <= half * (1.0 + 1e-12), "{} {} {}", x, y, half);
            }
        }
    }
}

/// Parts of a calibration make the same calibration, and wrong parts are refused.
#[test]
fn calibrations_of_parts() {
    let rows = [vec![1.0, -300.0, 0.0, 2.5], vec![3.0, 500.0, 0.0, -70.0]];
    for groups in [1, 3, 8] {
        let scheme = Scheme::new(8, groups, Sign::Signed).unwrap();
        let whole = Calibration::of(&rows, scheme).unwrap();
        let parts = Calibration::of_parts(scheme, whole.bias.clone(), whole.group.clone(), whole.largest());
        assert_eq!(parts.unwrap(), whole);
    }
    let scheme = Scheme::new(8, 2, Sign::Signed).unwrap();
    let refused = |bias: &[f64], group: &[usize], largest: f64| {
        Calibration::of_parts(scheme, bias.to_vec(), group.to_vec(), largest).unwrap_err()
    };
    assert_eq!(refused(&[], &[], 1.0), "0 biases and 0 groups of channels");
    assert_eq!(refused(&[0.0], &[0, 1], 1.0), "1 biases and 2 groups of channels");
    assert_eq!(refused(&[0.0], &[2], 1.0), "group is 2, allowed: 0 to 1");
    assert_eq!(refused(&[f64::INFINITY], &[0], 1.0), "bias is inf, allowed: finite numbers");
    assert_eq!(refused(&[0.0], &[0], -1.0), "largest value is -1, allowed: finite numbers from 0 on");
}
