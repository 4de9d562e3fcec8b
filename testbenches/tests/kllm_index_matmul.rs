//! The blocks of KLLM's index-based MatMul: all configurations, real tensors, the paper's size, broken hardware.

use golden::kllm::codebook::Codebook;
use golden::kllm::index_distribution_counter::Mode;
use golden::kllm::index_matmul::{Accumulator, Arithmetic};
use golden::kllm::index_matmul_column::{Column, Pair};
use golden::kllm::outliers::OutlierRule;
use golden::kllm::quantise::{Quantised, QuantisedWeights};
use hdl::blocks::common::FloatFormat;
use hdl::blocks::kllm::{
    BinStyle, ClusteringUnit, ConcatUnit, Fp16Mac, IndexDistributionCounter, IndexMatmulColumn, Search, WeightedSum,
};
use hdl::lang::{Block, CatalogBlock, elaborate};
use sim::fault::Fault;
use sim::stimulus::real_rows;
use sim::{Bench, Design, RunReport};
use testbenches::faults::must_be_noticed;
use testbenches::kllm::clustering_unit;
use testbenches::kllm::index_distribution_counter as counter;
use testbenches::kllm::index_matmul_column::{self as column, Task};
use testbenches::kllm::{concat_unit, fp16_mac, weighted_sum};
use testbenches::options;
use testbenches::{MakeBench, run, run_all};

fn configurations<B: CatalogBlock>(make: MakeBench<B>, number: u64) {
    for block in B::configurations() {
        run(&block, make, &options(number)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn concat_units() {
    run_all(concat_unit::bench, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn counters() {
    configurations::<IndexDistributionCounter>(counter::bench, 120);
}

#[test]
fn macs() {
    run_all(fp16_mac::bench, &options(20_000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn weighted_sums() {
    run_all(weighted_sum::bench, &options(600)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn clustering_units() {
    configurations::<ClusteringUnit>(clustering_unit::bench, 6000);
}

#[test]
fn columns() {
    configurations::<IndexMatmulColumn>(column::bench, 60);
}

/// Both micro-architectures of the counter, at the paper's size: 4,096 indices a column, 256 bins, 16 a cycle.
#[test]
fn counters_of_the_papers_size() {
    for bins in [BinStyle::FullWidth, BinStyle::OverflowLog] {
        let block = IndexDistributionCounter { bins, ..IndexDistributionCounter::default() };
        run(&block, counter::bench, &options(24)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Runs a bench that was made with data of its own.
fn run_with<B: Block>(block: &B, bench: anyhow::Result<Box<dyn Bench>>, number: u64) -> anyhow::Result<RunReport> {
    Ok(sim::run(&*bench?, &Design::from(&elaborate(block)?), &options(number))?)
}

/// The real model's activations and weights, quantised: pairs, codebook and expected values all come from the algorithm.
struct Real {
    tokens: Vec<Quantised>,
    weights: QuantisedWeights,
    raw: Vec<Vec<u64>>,
    arithmetic: Arithmetic,
}

/// A codebook spread like the values themselves: quantiles. (How codebooks are trained does not matter here.)
fn codebook(bits: u32, mut values: Vec<f64>) -> Codebook {
    values.sort_by(f64::total_cmp);
    let n = 1 << bits;
    let centroids: Vec<f64> = (0..n).map(|i| values[(2 * i + 1) * values.len() / (2 * n)]).collect();
    Codebook::from_centroids(bits, &centroids).unwrap_or_else(|e| panic!("{e}"))
}

fn normalised(rows: &[Vec<u64>]) -> Vec<f64> {
    let value = |&bits: &u64| f64::from(half::f16::from_bits(bits as u16));
    let row = |row: &Vec<u64>| {
        let values: Vec<f64> = row.iter().map(value).collect();
        let largest = values.iter().fold(f64::MIN_POSITIVE, |m, v| v.abs().max(m));
        values.into_iter().map(move |v| v / largest)
    };
    rows.iter().flat_map(row).collect()
}

impl Real {
    /// Tokens of `input` times channels of `weight`, with activations of `a_bits` bits.
    fn new(input: &str, weight: &str, a_bits: u32, accumulator: Accumulator) -> Self {
        let rows = |name| real_rows(name).unwrap_or_else(|e| panic!("{e}"));
        let raw: Vec<_> = rows(input).into_iter().step_by(9).take(4).collect();
        let weight = rows(weight);
        let columns: Vec<Vec<u64>> = (0..6).map(|n| weight.iter().map(|row| row[10 * n]).collect()).collect();
        let (a, w) = (codebook(a_bits, normalised(&raw)), codebook(4, normalised(&columns)));
        let rule = OutlierRule::TopK { per_side: 8 };
        let tokens = raw.iter().map(|row| Quantised::new(row, &a, rule).unwrap_or_else(|e| panic!("{e}"))).collect();
        let weights = QuantisedWeights::new(&columns, &w).unwrap_or_else(|e| panic!("{e}"));
        let arithmetic = Arithmetic::new(&a, &w, accumulator).unwrap_or_else(|e| panic!("{e}"));
        Self { tokens, weights, raw, arithmetic }
    }

    /// Every channel for every token, and the algorithm's results.
    fn columns(&self) -> (Vec<Column>, Vec<u64>) {
        let mut columns = (vec![], vec![]);
        for token in &self.tokens {
            for n in 0..self.weights.columns.len() {
                let mask = token.outlier_mask();
                let pair = |k: usize| Pair {
                    a: token.indices[k].into(),
                    w: self.weights.columns[n][k].into(),
                    present: true,
                    outlier: mask[k],
                };
                columns.0.push(Column {
                    pairs: (0..mask.len()).map(pair).collect(),
                    mode: Mode::KMeans,
                    half: false,
                    scale_w: self.weights.scales[n],
                    scale_a: token.scale,
                });
                let output = self.arithmetic.output(token, &self.weights, n).unwrap_or_else(|e| panic!("{e}"));
                columns.1.push(output.dense);
            }
        }
        columns
    }
}

/// The whole datapath on the model's tensors, for both activation widths on the same hardware: the golden column is the
/// algorithm's dense output bit by bit, and the hardware is the golden column's.
#[test]
fn real_tensors() {
    let counter = IndexDistributionCounter { k: 1536, ..IndexDistributionCounter::default() };
    let block = IndexMatmulColumn { counter, ..IndexMatmulColumn::default() };
    let mut tasks = vec![];
    for (input, weight, a_bits) in [
        ("l02_down_in", "l02_w_down", 4),
        ("l28_down_in", "l28_w_down", 4),
        ("l14_attn_in", "l14_w_q", 4),
        ("l28_down_in", "l28_w_down", 3),
    ] {
        let real = Real::new(input, weight, a_bits, Accumulator::Fp16Fused);
        let (mut columns, expected) = real.columns();
        let golden = golden::kllm::index_matmul_column::IndexMatmulColumn {
            shape: golden::kllm::index_distribution_counter::Shape { a_bits: 4, b_bits: 4 },
            mac: golden::kllm::fp16_mac::Fp16Mac::PAPER,
        };
        let mut codebook = real.arithmetic.products.values().to_vec();
        if a_bits == 3 {
            // The lower half of the hardware's bins; what is in the others must not matter.
            columns.iter_mut().for_each(|c| c.half = true);
            codebook.resize(256, 0x7e00);
        }
        for (column, expected) in columns.iter().zip(expected) {
            assert_eq!(golden.y(column, &codebook).unwrap_or_else(|e| panic!("{e}")), expected);
        }
        tasks.push(Task { codebook, columns });
    }
    run_with(&block, column::bench_of(&block, tasks), 1).unwrap_or_else(|e| panic!("{e}"));
}

/// The clustering unit gives the model's activations the indices that the quantisation gives them; and all 65,536 fp16
/// values those of the definition.
#[test]
fn clustering_of_real_activations_and_of_all_values() {
    let real = Real::new("l28_down_in", "l28_w_down", 4, Accumulator::Fp16Fused);
    let mut tasks = vec![];
    for (token, values) in real.tokens.iter().zip(&real.raw) {
        let midpoints = token.codebook.thresholds(token.scale).unwrap_or_else(|e| panic!("{e}"));
        for (k, &value) in values.iter().enumerate() {
            let index = golden::kllm::clustering_unit::nearest(&midpoints, value);
            assert!(token.outlier_mask()[k] || index == u64::from(token.indices[k]));
        }
        tasks.push(clustering_unit::Task { midpoints, values: values.clone() });
    }
    tasks.push(clustering_unit::Task { midpoints: tasks[0].midpoints.clone(), values: (0..=0xffff).collect() });
    for search in [Search::Binary, Search::Parallel] {
        let block = ClusteringUnit { search, ..ClusteringUnit::default() };
        run_with(&block, clustering_unit::bench_of(&block, tasks.clone()), 600).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// K = 4096 end to end: 256 beats and 256 bins, an output every 256 cycles, the first after 516.
#[test]
fn column_of_the_papers_size() {
    let block = IndexMatmulColumn::default();
    assert_eq!(block.cycles(256, 256), 516);
    run(&block, column::bench, &options(24)).unwrap_or_else(|e| panic!("{e}"));
}

/// The other sums at the paper's size.
#[test]
#[ignore = "minutes: other sums at the paper's size"]
fn large_columns() {
    for (accumulate, fused, stages) in [(FloatFormat::Fp16, false, 3), (FloatFormat::Fp32, true, 2)] {
        let mac = Fp16Mac { accumulate, fused, stages, ..Fp16Mac::default() };
        let block = IndexMatmulColumn { mac, ..IndexMatmulColumn::default() };
        run(&block, column::bench, &options(80)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Every deliberate fault in the hardware must be seen; here the first of each list, since each is a model to build.
#[test]
fn faults_are_found() {
    faults(1);
}

#[test]
#[ignore = "minutes: a model for each fault"]
fn large_all_faults_are_found() {
    faults(usize::MAX);
}

/// Runs the first `most` faults of each block.
fn faults(most: usize) {
    let block =
        IndexDistributionCounter { a_bits: 2, b_bits: 2, inputs: 4, k: 256, ..IndexDistributionCounter::default() };
    assert_eq!((block.bin_width(), block.log_entries()), (6, 8));
    must_be_noticed(&block, counter::bench, 120, first(&counter_faults(), most));
    let counter = IndexDistributionCounter { k: 64, ..block };
    let block = IndexMatmulColumn { counter, ..IndexMatmulColumn::default() };
    must_be_noticed(&block, column::bench, 80, first(&column_faults(), most));
    must_be_noticed(
        &Fp16Mac { fused: false, stages: 3, ..Fp16Mac::default() },
        fp16_mac::bench,
        4000,
        first(&mac_faults(), most),
    );
    must_be_noticed(
        &WeightedSum { count_width: 9, ..WeightedSum::default() },
        weighted_sum::bench,
        400,
        first(&sum_faults(), most),
    );
    let block = ClusteringUnit { bits: 3, lanes: 2, search: Search::Binary, pipelined: false };
    must_be_noticed(&block, clustering_unit::bench, 6000, first(&clustering_faults(), most));
    must_be_noticed(&ConcatUnit::default(), concat_unit::bench, 1000, first(&concat_faults(), most));
}

fn first<'a>(faults: &'a [(&'a str, Fault)], most: usize) -> &'a [(&'a str, Fault)] {
    &faults[..most.min(faults.len())]
}

fn counter_faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("the second overflow is forgotten", Fault::net("serve", "1'b0").into("g_log[0].log_q")),
        ("an overflow is logged again and again", Fault::net("g_settle[0].served_here", "1'b0")),
        ("an overflow is cleared and not logged", Fault::net("serve", "1'b0").into("log_used_0_q")),
        ("overflows of integers are dropped", Fault::net("adds_overflows", "1'b0")),
        ("bins keep what the column before left", Fault::net("g_rows[0].keep", "4'd15")),
        ("beats enter while a complete column waits", Fault::net("indices_ready_o", "1'b1")),
        ("the snapshot is overwritten while it is drained", Fault::net("swap", "complete_q")),
        ("half is ignored", Fault::net("bins_last_o", "end_of_row & row_q[1] & row_q[0]")),
        ("an absent input counts", Fault::net("present[1]", "fire")),
        ("inputs count while they wait", Fault::net("fire", "indices_valid_i")),
        (
            "a carry is lost",
            Fault::net("g_rows[0].queue_1[0]", "g_rows[0].g_adders_0[0].half_0 & g_rows[0].queue_0[2]"),
        ),
        (
            "bit 1 of an integer weighs as much as bit 0",
            Fault::net("drained_sum", "{1'b0, drained_ones[0]} + {1'b0, drained_ones[1]}"),
        ),
        ("an overflow at the swap is lost", Fault::net("snapshot_log_used[0]", "1'b0")),
    ]
}

fn mac_faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("the sum never starts again", Fault::net("start_2_q", "1'b0")),
        ("a held product is added again", Fault::net("enable_i", "1'b1").into("sum_q")),
        ("a gap is added", Fault::net("valid_2_q", "1'b1").into("sum_q")),
        ("valid too early", Fault::net("valid_2_q", "valid_1_q").into("valid_q")),
    ]
}

fn sum_faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("columns run together", Fault::net("first_q", "1'b0").into("u_mac")),
        ("a sum is overwritten while it waits", Fault::net("enable", "1'b1")),
        ("the last bin is missing", Fault::net("ends_1_q", "bins_valid_i & bins_last_i").into("done_q")),
    ]
}

fn clustering_faults() -> Vec<(&'static str, Fault)> {
    let nan = "&values_value_i[14:10] & |values_value_i[9:0]";
    vec![
        ("a tie goes to the higher centroid", Fault::net("g_lanes[0].midpoint_2", "right - 16'd1")),
        ("a NaN is above everything", Fault::net("g_lanes[0].key", &format!("{nan} ? 16'd65535 : right"))),
        ("a midpoint of -0 is below 0", Fault::net("written_key", "midpoint_i == 16'd32768 ? 16'd32767 : right")),
        (
            "a NaN of a midpoint is below everything",
            Fault::net("written_key", "&midpoint_i[14:10] & |midpoint_i[9:0] ? 16'd0 : right"),
        ),
        ("a wrong candidate", Fault::net("g_lanes[0].midpoint_2_bits", "{right[2:1], 1'b1}")),
    ]
}

fn concat_faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("outliers count", Fault::net("outlier_i", "1'b0")),
        ("the weight in the high bits", Fault::net("index_q", "{right[3:0], right[7:4]}")),
        ("nothing holds", Fault::net("enable_i", "1'b1").into("index_q")),
    ]
}

fn column_faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("outliers count", Fault::net("pairs_outlier_i", "4'd0")),
        ("the scales of another column", Fault::net("next_scales", "scales[scales_write_q]")),
        ("pairs are overwritten while the counter is busy", Fault::net("pairs_ready_o", "!scales_full")),
        ("y does not wait", Fault::net("y_ready_i", "1'b1")),
        ("the weights' scale is 1", Fault::net("next_scales", "{right[31:16], 16'h3c00}")),
        ("a neighbour's centroid", Fault::net("centroid", "codebook[counter_bins_bin ^ 4'd1]")),
        ("the mode of the next beat", Fault::net("pairs_integer_q", "pairs_integer_i").into("u_counter")),
        ("scales are fetched over those in use", Fault::net("fetch", "|scales_waiting_q")),
    ]
}
