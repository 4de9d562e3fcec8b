//! The lane: all configurations, real tensors, broken hardware.

use golden::kllm::codebook::Codebook;
use golden::kllm::index_matmul::Accumulator;
use golden::kllm::pe_lane::{Centroids, FixedCodebook, Position};
use golden::kllm::quantize::Quantized;
use hdl::blocks::kllm::{PairProducts, PeLane};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use test_tag::tag;
use testbenches::kllm::pe_lane::{Bank, Inputs, Pass, Task, bench, bench_of};

use crate::real::Real;
use crate::{configurations, run_with};

#[test]
fn all_configurations() {
    configurations(bench, 120);
}

/// The paper's lane.
fn paper() -> PeLane {
    PeLane { columns: 32, inputs: 16, ..PeLane::default() }
}

#[tag(full)]
#[test]
#[ignore = "minutes: 512 pairs a cycle"]
fn the_papers_size() {
    run(&paper(), bench, &options(24)).unwrap_or_else(|e| panic!("{e}"));
}

/// Cycles by the lane and by its formulas, for the layers that the documentation shows.
#[test]
fn cycles_of_the_documentation() {
    let lane = paper();
    for (k, outputs, cycles) in [(64, 1, 32), (64, 8, 4), (576, 1, 36), (1536, 1, 96), (4096, 1, 256)] {
        let lane = PeLane { outputs, ..lane.clone() };
        let beats = [k / 16; 101];
        assert_eq!((lane.cycles(&beats) - lane.cycles(&beats[..1])) / 100, cycles, "K = {k}");
    }
    let latency = |inputs, outliers| PeLane { inputs, outliers, ..lane.clone() }.latency();
    assert_eq!([latency(16, 0), latency(16, 64), latency(4, 0), latency(4, 64)], [7, 7, 6, 7]);
}

const INPUTS: usize = 16;

/// Banks of at most `words` words with the indices of all channels of `real`.
fn words(real: &Real, words: usize) -> Vec<Vec<Vec<u64>>> {
    let columns = &real.weights.columns;
    let word = |k: usize| -> Vec<u64> {
        columns.iter().flat_map(|column| column[k..k + INPUTS].iter().map(|&w| u64::from(w))).collect()
    };
    let all: Vec<_> = (0..columns[0].len()).step_by(INPUTS).map(word).collect();
    all.chunks(words).map(<[_]>::to_vec).collect()
}

fn inputs(token: &Quantized) -> Vec<Inputs> {
    let (mask, indices) = (token.outlier_mask(), &token.indices);
    let beat = |k: usize| Inputs {
        index: indices[k..k + INPUTS].iter().map(|&a| a.into()).collect(),
        present: mask[k..k + INPUTS].iter().map(|outlier| !outlier).collect(),
        high: false,
        outlier: None,
        again: false,
    };
    (0..indices.len()).step_by(INPUTS).map(beat).collect()
}

fn fixed(codebook: &Codebook, bits: u32) -> FixedCodebook {
    FixedCodebook::new(codebook, bits).unwrap_or_else(|e| panic!("{e}"))
}

/// Projections of the model, with 4 and 3 bits on the same hardware. K = 576 fits a bank, which all tokens use. K =
/// 1536 takes three banks for each token.
#[test]
fn real_tensors() {
    let block = PeLane { columns: 6, inputs: 16, buffer: 36, k: 1536, outputs: 2, ..PeLane::default() };
    let mut tasks = vec![];
    for (input, weight, a_bits) in
        [("l14_attn_in", "l14_w_q", 4), ("l28_down_in", "l28_w_down", 4), ("l14_attn_in", "l14_w_q", 3)]
    {
        let real = Real::new(input, weight, a_bits, Accumulator::Fp32);
        let mut activations = fixed(&real.tokens[0].codebook, 12).values;
        // Entries that no index names.
        activations.resize(16, -1234);
        let centroids = Centroids { activations, weights: fixed(&real.weights.codebook, 12).values };
        let banks = words(&real, 36);
        let tokens: Vec<_> = real.tokens.iter().map(inputs).collect();
        let pass = |token: &Vec<Inputs>, number: usize, last| {
            let beats = token.iter().skip(36 * number).take(36).cloned().collect();
            Pass { beats, last }
        };
        let banks = if let [words] = &banks[..] {
            let passes = tokens.iter().map(|token| pass(token, 0, true)).collect();
            vec![Bank { words: words.clone(), passes }]
        } else {
            let bank = |token: &Vec<Inputs>| -> Vec<Bank> {
                let of = |(number, words): (usize, &Vec<Vec<u64>>)| Bank {
                    words: words.clone(),
                    passes: vec![pass(token, number, number + 1 == banks.len())],
                };
                banks.iter().enumerate().map(of).collect()
            };
            tokens.iter().flat_map(bank).collect()
        };
        tasks.push(Task { centroids, banks });
    }
    run_with(&block, bench_of(&block, tasks), 1).unwrap_or_else(|e| panic!("{e}"));
}

/// The error that centroids of few bits add to the dense part of an output, beside centroids in fp16: |y' - y| / |y|,
/// percent, over all outputs. `-- --nocapture` prints the table of the documentation.
#[test]
fn centroids_as_integers_are_close() {
    let limits = [(6, 8.0), (8, 2.0), (10, 0.5), (12, 0.15), (16, 0.015)];
    for (input, weight) in [("l14_attn_in", "l14_w_q"), ("l28_down_in", "l28_w_down"), ("l02_ffn_in", "l02_w_gate")] {
        let real = Real::new(input, weight, 4, Accumulator::Fp32);
        for (bits, limit) in limits {
            let (a, w) = (fixed(&real.tokens[0].codebook, bits), fixed(&real.weights.codebook, bits));
            let places = f64::from(a.shift + w.shift).exp2();
            let centroids = Centroids { activations: a.values, weights: w.values };
            let (mut off, mut all) = (0.0, 0.0);
            for token in &real.tokens {
                let (mask, columns) = (token.outlier_mask(), &real.weights.columns);
                let position = |k: usize| Position {
                    activation: token.indices[k].into(),
                    weights: columns.iter().map(|column| column[k].into()).collect(),
                    present: !mask[k],
                    high: false,
                };
                let positions: Vec<_> = (0..mask.len()).map(position).collect();
                let sums = centroids.sums(&positions, columns.len()).unwrap_or_else(|e| panic!("{e}"));
                for (sum, column) in sums.iter().zip(columns) {
                    let value =
                        |codebook: &Codebook, index: u16| f64::from(half::f16::from_bits(codebook.value(index) as u16));
                    let exact: f64 = (0..mask.len())
                        .filter(|&k| !mask[k])
                        .map(|k| value(&token.codebook, token.indices[k]) * value(&real.weights.codebook, column[k]))
                        .sum();
                    off += (*sum as f64 / places - exact).powi(2);
                    all += exact.powi(2);
                }
            }
            let share = 100.0 * (off / all).sqrt();
            println!("{input}, {bits} bits: {share:.4} %");
            assert!(share < limit, "{input} with {bits} bits: {share} %");
        }
    }
}

#[test]
fn faults_are_found() {
    must_be_noticed(&small(), bench, 200, &faults());
}

/// The lane of [`small`] with outliers.
fn sparse() -> PeLane {
    PeLane { outliers: 6, ..small() }
}

#[test]
fn faults_of_outliers_are_found() {
    must_be_noticed(&sparse(), bench, 300, &faults_of_outliers());
}

fn faults_of_outliers() -> Vec<(&'static str, Fault)> {
    let column = |net, value| Fault::net(net, value).module("lane_column");
    vec![
        ("an outlier meets the weight of the next beat", column("w_outlier_2_q", "w_outlier_1_q")),
        ("outliers move on while beats wait", Fault::net("multipliers_move", "1'b1")),
        ("a beat that comes again meets the next word", Fault::net("activations_again_i", "1'b0").into("address_q")),
        ("a bank ends before the last outlier", Fault::net("activations_again_i", "1'b0").into("u_weights")),
        ("a subnormal outlier is twice as large", Fault::net("normal", "1'b1")),
        ("an outlier counts in the next group", column("start_i", "1'b0").into("u_outlier")),
        ("an outlier that is not there counts", Fault::net("outlier_1_q", "1'b1")),
        ("the sign of the weight is lost", column("outlier_negative_1_q", "1'b0")),
        ("the largest outlier loses a place", column("shifted_4", "right & ~47'h100000000000")),
        ("too many outliers are not told", Fault::net("too_many", "1'b0")),
        ("one that has no value is not told", Fault::net("is_special", "1'b0")),
        ("one without a value spoils the next group", Fault::net("start_1_q", "1'b0").into("special_q")),
        ("a position that is none is not told", Fault::net("nowhere", "1'b0")),
        ("a centroid changes under an outlier", Fault::net("looks", "1'b0")),
        ("sums of outliers leave twice", Fault::net("leaves", "1'b0").into("u_leaving_outliers")),
    ]
}

#[tag(full)]
#[test]
#[ignore = "minutes: a model for each fault"]
fn faults_of_multipliers_are_found() {
    let multiply = PeLane { products: PairProducts::Multiply, ..small() };
    let faults = [
        ("a centroid changes under a beat", Fault::net("codebook_ready_o", "!clear_i")),
        ("a centroid is complemented for the other sign", Fault::net("g_products[1].centroid", "~right")),
    ];
    must_be_noticed(&multiply, bench, 200, &faults);
}

fn small() -> PeLane {
    PeLane { columns: 2, inputs: 3, a_bits: 2, w_bits: 2, centroid_bits: 6, buffer: 4, k: 40, ..PeLane::default() }
}

fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("outliers count", Fault::net("activations_present_i", "3'b111")),
        ("high nibbles count once", Fault::net("high_i", "1'b0").module("lane_column")),
        ("a copy overwrites what has not left", Fault::net("free", "1'b1")),
        ("a bank is freed though it is kept", Fault::net("freed", "take & ends")),
        ("an end is not told", Fault::net("apart", "1'b0")),
        ("a table changes under a beat", Fault::net("building", "1'b0")),
        ("a column begins from the one before", Fault::net("start_i", "1'b0").module("lane_column")),
        ("too many pairs are not told", Fault::net("wrong", "error_2_q")),
        ("a wrong group spoils the next one", Fault::net("start_2_q", "1'b0").into("wrong_q")),
        ("a clear keeps a beat", Fault::net("clear_i", "1'b0").into("taken_q")),
        ("a clear keeps the place in a bank", Fault::net("clear_i", "1'b0").into("address_q")),
        ("a clear keeps sums", Fault::net("clear_i", "1'b0").into("leaving_q")),
        ("words wait for no bank", Fault::net("weights_ready_o", "!clear_i").module("lane_banks")),
        ("a full bank does not end", Fault::net("filled", "word_comes & weights_last_i").module("lane_banks")),
        ("the most negative centroid is 0", Fault::net("entry_magnitude", "entry_below + {4'd0, entry_negative}")),
        ("a product loses its sign", Fault::net("g_products[1].negative_3_q", "3'b000")),
    ]
}
