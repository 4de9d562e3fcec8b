use proptest::prelude::*;

use super::super::orizuru::Pop;
use super::super::outliers::OutlierRule;
use super::*;

const ACCUMULATORS: [Accumulator; 3] = [Accumulator::Fp16Fused, Accumulator::Fp16, Accumulator::Fp32];

fn fp16s(values: &[f64]) -> Vec<u64> {
    values.iter().map(|&v| fp16::from_f64(v)).collect()
}

fn codebook(values: &[f64]) -> Codebook {
    Codebook::new(values.len().ilog2(), fp16s(values)).unwrap()
}

/// The size of Figure 3(a), K = 8, N = 4, one bit for A and two for B; the scan lost the figure's numbers.
fn figure_3() -> (Quantized, QuantizedWeights) {
    let a = Quantized {
        codebook: codebook(&[-0.5, 1.0]),
        scale: fp16::ONE,
        indices: vec![0, 1, 1, 0, 1, 0, 0, 1],
        outliers: Vec::new(),
    };
    let columns = vec![
        vec![0, 1, 2, 3, 0, 1, 2, 3],
        vec![3, 3, 3, 3, 3, 3, 3, 3],
        vec![0, 0, 1, 1, 1, 1, 0, 0],
        vec![2, 1, 1, 2, 1, 2, 2, 1],
    ];
    let w = QuantizedWeights { codebook: codebook(&[-1.0, -0.25, 0.25, 2.0]), scales: vec![fp16::ONE; 4], columns };
    (a, w)
}

#[test]
fn figure_3a_by_hand() {
    let (a, w) = figure_3();
    // Column 0, indices {a, w}: 000 101 110 011 100 001 010 111: each once.
    assert_eq!(counts(&a, &w.columns[0], 2).unwrap(), [1, 1, 1, 1, 1, 1, 1, 1]);
    // Column 1: {0, 3} four times, {1, 3} four times.
    assert_eq!(counts(&a, &w.columns[1], 2).unwrap(), [0, 0, 0, 4, 0, 0, 0, 4]);
    // -0.5 * (-1 - 0.25 + 0.25 + 2) + 1 * (-1 - 0.25 + 0.25 + 2) = 0.5
    // (-0.5 + 1) * 4 * 2 = 4
    // -0.5 * (-1 - 0.25 - 0.25 - 1) + 1 * (-1 - 0.25 - 0.25 - 1) = -1.25
    // -0.5 * (4 * 0.25) + 1 * (4 * -0.25) = -1.5
    let expected = [0.5, 4.0, -1.25, -1.5];
    for accumulator in ACCUMULATORS {
        let arithmetic = Arithmetic::new(&a.codebook, &w.codebook, accumulator).unwrap();
        assert_eq!(arithmetic.matmul(&a, &w).unwrap(), fp16s(&expected), "small dyadic numbers need no rounding");
    }
    for (n, y) in expected.iter().enumerate() {
        assert_eq!(exact::by_counts(&a, &w, n).unwrap(), (y * 2f64.powi(96)) as i128);
    }
}

#[test]
fn figure_3b_by_hand() {
    let integers = Integers { scale: fp16::from_f64(0.25), values: vec![3, 0, 2, 1] };
    let w = QuantizedWeights {
        codebook: codebook(&[-1.0, -0.25, 0.25, 2.0]),
        scales: vec![fp16::from_f64(4.0)],
        columns: vec![vec![1, 3, 1, 0]],
    };
    // The counter adds the integer: bin 0 gets 1, bin 1 gets 3 + 2.
    assert_eq!(integer_counts(&integers.values, &w.columns[0], 2).unwrap(), [1, 5, 0, 0]);
    assert_eq!(integers.output(&w, 0, Accumulator::Fp16Fused).unwrap(), fp16::from_f64(-1.0 - 5.0 * 0.25));
    assert_eq!(integers.exact_by_counts(&w, 0).unwrap(), (-2.25 * 2f64.powi(72)) as i128);
}

#[test]
fn an_outlier_is_absent_from_the_dense_path() {
    let (mut a, w) = figure_3();
    a.outliers = vec![Pop { index: 1, value: fp16::from_f64(100.0) }];
    assert_eq!(counts(&a, &w.columns[1], 2).unwrap(), [0, 0, 0, 4, 0, 0, 0, 3]);
    let arithmetic = Arithmetic::new(&a.codebook, &w.codebook, Accumulator::Fp16Fused).unwrap();
    let output = arithmetic.output(&a, &w, 1).unwrap();
    assert_eq!([output.dense, output.sparse, output.y], [2.0, 200.0, 202.0].map(fp16::from_f64));
    // Any index may stand there.
    a.indices[1] = 0;
    assert_eq!(arithmetic.output(&a, &w, 1).unwrap(), output);
    assert_eq!(exact::by_counts(&a, &w, 1).unwrap(), 202 << 96);
}

#[test]
fn large_counts_round_and_overflow_as_fp16_does() {
    let book = codebook(&[0.0, 1.0]);
    let sum = |count| fp16::value(weighted_sum(&[0, count], &book, Accumulator::Fp16Fused).unwrap());
    assert_eq!([2048, 2049, 2051, 65519].map(sum), [2048.0, 2048.0, 2052.0, 65504.0]);
    assert_eq!(sum(65520), f64::INFINITY);
}

#[test]
fn the_bound_is_that_of_the_roundings_made() {
    // Dyadic numbers: nothing is rounded, but the bound cannot know this. It is a few units in the last place, no more.
    let (a, w) = figure_3();
    for accumulator in ACCUMULATORS {
        let arithmetic = Arithmetic::new(&a.codebook, &w.codebook, accumulator).unwrap();
        let bound = arithmetic.rounding_bound(&a, &w, 1).unwrap();
        // y = 4 and intermediate sums up to 8: half a unit in the last place is 2^-9 and 2^-8.
        assert!(bound > 2f64.powi(-9) && bound < 20.0 * 2f64.powi(-8), "{accumulator:?}: {bound}");
    }
    let large = QuantizedWeights { scales: vec![0x7bff; 4], ..w };
    let arithmetic = Arithmetic::new(&a.codebook, &large.codebook, Accumulator::Fp16).unwrap();
    assert_eq!(arithmetic.rounding_bound(&a, &large, 1).unwrap(), f64::INFINITY, "65504 * 4 overflows");
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let (a, w) = figure_3();
    assert!(counts(&a, &[0, 1], 2).unwrap_err().to_string().contains("output channel has 2 elements, expected 8"));
    assert!(integer_counts(&[1], &[], 2).is_err());
    let narrow = Arithmetic::new(&a.codebook, &a.codebook, Accumulator::Fp16).unwrap();
    assert!(narrow.output(&a, &w, 0).unwrap_err().to_string().contains("counts has 8 elements, expected 4"));
    let huge = Integers { scale: 0x7bff, values: vec![u32::MAX; 2] };
    let w = QuantizedWeights { codebook: codebook(&[60000.0; 2]), scales: vec![0x7bff], columns: vec![vec![0, 0]] };
    assert!(huge.exact_by_counts(&w, 0).unwrap_err().to_string().contains("does not fit 128 bits"));
    assert!(Integers::new(&[0xbc00], 4).unwrap_err().to_string().contains("integer operand is -1"));
    assert!(Integers::new(&[0], 17).unwrap_err().to_string().contains("integer bits is 17"));
}

#[test]
fn integers_round_to_nearest_even_steps() {
    let scores = fp16s(&[1.5, 0.0, 0.05, 0.15, 0.25, 0.1, 1.44]);
    let integers = Integers::new(&scores, 4).unwrap();
    assert_eq!(integers.scale, fp16::from_f64(0.1));
    // fp16(0.1) is slightly below 0.1, and 1.5 / fp16(0.1) is slightly above 15: the end of the range. fp16(0.05) is
    // exactly half a step: to even.
    assert_eq!(integers.values, [15, 0, 0, 2, 3, 1, 14]);
    assert_eq!(Integers::new(&[0, 0], 4).unwrap(), Integers { scale: 0, values: vec![0, 0] });
}

/// A token and a matrix with random codebooks, scales, indices and outliers.
fn operands(k: usize) -> impl Strategy<Value = (Quantized, QuantizedWeights)> {
    let unit = || (-1.0f64..1.0).prop_map(fp16::from_f64);
    let book = move |bits: u32| {
        prop::collection::vec(unit(), 1 << bits).prop_map(move |values| Codebook::new(bits, values).unwrap())
    };
    let scale = || (0.01f64..30.0).prop_map(fp16::from_f64);
    let token = (1u32..=4, prop::collection::vec(0u16..16, k), scale(), 0usize..5, any::<u64>());
    let token = token.prop_flat_map(move |(bits, indices, scale, outliers, seed)| {
        let indices: Vec<u16> = indices.iter().map(|i| i % (1 << bits)).collect();
        let list: Vec<Pop> = (0..outliers.min(k))
            .map(|i| Pop { index: (i * 7 + seed as usize % k) % k, value: fp16::from_f64(40.0 + 3.3 * i as f64) })
            .fold(Vec::new(), |mut list: Vec<Pop>, pop| {
                if list.iter().all(|p| p.index != pop.index) {
                    list.push(pop);
                }
                list
            });
        book(bits).prop_map(move |codebook| Quantized {
            codebook,
            scale,
            indices: indices.clone(),
            outliers: list.clone(),
        })
    });
    let weights = (book(4), prop::collection::vec((scale(), prop::collection::vec(0u16..16, k)), 3));
    let weights = weights.prop_map(|(codebook, columns)| {
        let (scales, columns) = columns.into_iter().unzip();
        QuantizedWeights { codebook, scales, columns }
    });
    (token, weights)
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    #[test]
    fn counting_is_the_matmul_of_the_dequantized_operands((a, w) in (1usize..90).prop_flat_map(operands)) {
        for n in 0..w.columns.len() {
            let exact = exact::by_elements(&a, &w, n).unwrap();
            prop_assert_eq!(exact::by_counts(&a, &w, n).unwrap(), exact);
            for accumulator in ACCUMULATORS {
                let arithmetic = Arithmetic::new(&a.codebook, &w.codebook, accumulator).unwrap();
                let y = arithmetic.output(&a, &w, n).unwrap().y;
                let error = (fp16::value(y) - exact as f64 / 2f64.powi(96)).abs();
                let bound = arithmetic.rounding_bound(&a, &w, n).unwrap();
                prop_assert!(error <= bound, "{:?}: off by {}, bound {}", accumulator, error, bound);
            }
        }
    }

    #[test]
    fn integer_counting_too(
        scores in prop::collection::vec(0.0f64..1.0, 1..60),
        bits in 1u32..9,
        seed in any::<u64>(),
    ) {
        let integers = Integers::new(&fp16s(&scores), bits).unwrap();
        prop_assert!(integers.values.iter().all(|&v| v < 1 << bits));
        let column = (0..scores.len()).map(|i| (seed.rotate_left(i as u32) % 8) as u16).collect();
        let values: Vec<f64> = (0..8).map(|i| f64::from(i) * 0.13 - 0.5).collect();
        let w = QuantizedWeights { codebook: codebook(&values), scales: vec![fp16::from_f64(1.7)], columns: vec![column] };
        let exact = integers.exact_by_elements(&w, 0).unwrap();
        prop_assert_eq!(integers.exact_by_counts(&w, 0).unwrap(), exact);
        // Every step rounds by at most 2^-11 of its terms: 8 bins, each with a count and a sum; two scales.
        let y = fp16::value(integers.output(&w, 0, Accumulator::Fp16Fused).unwrap());
        let magnitude: f64 = integer_counts(&integers.values, &w.columns[0], 3).unwrap().iter()
            .zip(&values).map(|(&c, v)| c as f64 * v.abs()).sum::<f64>() * 1.7 * fp16::value(integers.scale);
        let error = (y - exact as f64 / 2f64.powi(72)).abs();
        prop_assert!(error <= 12.0 * 2f64.powi(-11) * magnitude + 1e-6, "off by {}", error);
    }

    /// From fp16 values to fp16 values: quantize, count, and compare with the product of the dequantized values.
    #[test]
    fn quantized_values_too(
        token in prop::collection::vec(-8.0f64..8.0, 20),
        columns in prop::collection::vec(prop::collection::vec(-1.0f64..1.0, 20), 2),
        per_side in 0usize..4,
    ) {
        let a_book = codebook(&[-1.0, -0.6, -0.3, -0.1, 0.1, 0.3, 0.6, 1.0]);
        let w_book = codebook(&[-0.9, -0.2, 0.2, 0.9]);
        let a = Quantized::new(&fp16s(&token), &a_book, OutlierRule::TopK { per_side }).unwrap();
        let columns: Vec<Vec<u64>> = columns.iter().map(|c| fp16s(c)).collect();
        let w = QuantizedWeights::new(&columns, &w_book).unwrap();
        prop_assert_eq!(a.outliers.len(), 2 * per_side);
        for n in 0..2 {
            prop_assert_eq!(exact::by_counts(&a, &w, n), exact::by_elements(&a, &w, n));
        }
    }
}
