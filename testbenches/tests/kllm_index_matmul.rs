//! The blocks of KLLM's index-based MatMul: all configurations, real tensors, the paper's size, broken hardware.

use golden::kllm::codebook::Codebook;
use golden::kllm::index_distribution_counter::Mode;
use golden::kllm::index_matmul::{Accumulator, Arithmetic};
use golden::kllm::index_matmul_column::{Column, Pair};
use golden::kllm::outliers::OutlierRule;
use golden::kllm::quantize::{Quantized, QuantizedWeights};
use hdl::blocks::common::FloatFormat;
use hdl::blocks::kllm::{
    BinStyle, ClusteringUnit, ConcatUnit, Fp16Mac, IndexDistributionCounter, IndexMatmulColumn, Search, WeightedSum,
};
use hdl::lang::{Block, CatalogBlock, elaborate};
use sim::stimulus::real_rows;
use sim::{Bench, Design, RunOptions, RunReport};
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

/// The real model's activations and weights, quantized: pairs, codebook and expected values all come from the algorithm.
struct Real {
    tokens: Vec<Quantized>,
    weights: QuantizedWeights,
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
        let tokens = raw.iter().map(|row| Quantized::new(row, &a, rule).unwrap_or_else(|e| panic!("{e}"))).collect();
        let weights = QuantizedWeights::new(&columns, &w).unwrap_or_else(|e| panic!("{e}"));
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

/// The clustering unit gives the model's activations the indices that the quantization gives them; and all 65,536 fp16
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
    each(&block, counter::bench, 120, COUNTER_FAULTS, most);
    let counter = IndexDistributionCounter { k: 64, ..block };
    let block = IndexMatmulColumn { counter, ..IndexMatmulColumn::default() };
    each(&block, column::bench, 80, COLUMN_FAULTS, most);
    each(&Fp16Mac { fused: false, stages: 3, ..Fp16Mac::default() }, fp16_mac::bench, 4000, MAC_FAULTS, most);
    each(&WeightedSum { largest_count: 70_000, ..WeightedSum::default() }, weighted_sum::bench, 400, SUM_FAULTS, most);
    let block = ClusteringUnit { bits: 3, lanes: 2, search: Search::Binary, pipelined: false };
    each(&block, clustering_unit::bench, 6000, CLUSTERING_FAULTS, most);
    each(&ConcatUnit::default(), concat_unit::bench, 1000, CONCAT_FAULTS, most);
}

fn each<B: CatalogBlock>(block: &B, make: MakeBench<B>, number: u64, faults: &[(&str, &str, &str)], most: usize) {
    let whole = Design::from(&elaborate(block).unwrap_or_else(|e| panic!("{e}")));
    let bench = make(block).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in faults.iter().take(most) {
        let mut design = whole.clone();
        let mut changed = 0;
        for file in &mut design.files {
            changed += file.text.matches(right).count();
            file.text = file.text.replace(right, wrong);
        }
        assert!(changed > 0, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let options = RunOptions { waves: Some(waves.path().into()), vectors: number, ..RunOptions::default() };
        let error = sim::run(&*bench, &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}

const COUNTER_FAULTS: &[(&str, &str, &str)] = &[
    ("the second overflow is forgotten", "if (serve) log_q <= log[i]", "if (serve) log_q <= log_q"),
    ("an overflow is logged again and again", "(served_in_row & {4{served_here}}) |", "(served_in_row & 4'd0) |"),
    ("an overflow is cleared and not logged", "log_used_0_q <= (serve", "log_used_0_q <= (1'b0"),
    ("overflows of integers are dropped", "& {4{adds_overflows}}", "& {4{1'b0}}"),
    ("bins keep what the column before left", "keep = {4{!clear}}", "keep = {4{1'b1}}"),
    ("beats enter while a complete column waits", "!complete_q | swap", "1'b1"),
    ("the snapshot is overwritten while it is drained", "!draining_q | finishing", "1'b1"),
    ("half is ignored", "(row_q[1] == !snapshot_half_q)", "row_q[1]"),
    ("an absent input counts", "indices_present_i[i] & fire", "fire"),
    ("inputs count while they wait", "wire fire = indices_valid_i & indices_ready_o", "wire fire = indices_valid_i"),
    ("a carry is lost", "(queue_0[3*j] & queue_0[3*j + 1]) |", ""),
    ("bit 1 of an integer weighs as much as bit 0", "{drained_ones[1], 1'b0}", "{1'b0, drained_ones[1]}"),
    (
        "an overflow at the swap is lost",
        "snapshot_log_used_q <= log_used[i]",
        "snapshot_log_used_q <= (i != 0) & log_used[i]",
    ),
    ("too many inputs are forgotten with the next beat", "(open_q & error_q) | (inputs", "(inputs"),
    ("the mode is that of each beat", "mode = open_q ? integer_q : indices_integer_i", "mode = indices_integer_i"),
];

const MAC_FAULTS: &[(&str, &str, &str)] = &[
    ("the sum never starts again", "!start_2_q ? sum_q", "1'b1 ? sum_q"),
    ("a held product is added again", "if (enable_i & valid_2_q) sum_q", "if (valid_2_q) sum_q"),
    ("a gap is added", "if (enable_i & valid_2_q)", "if (enable_i)"),
    ("valid too early", "valid_q <= valid_2_q", "valid_q <= valid_1_q"),
];

const SUM_FAULTS: &[(&str, &str, &str)] = &[
    ("columns run together", ".start_i(first_q)", ".start_i(1'b0)"),
    ("a sum is overwritten while it waits", "!done_q | sum_ready_i", "1'b1"),
    ("the last bin is missing", "done_q <= ends_1_q", "done_q <= bins_valid_i & bins_last_i"),
    ("an infinite count is not told", "| (bins_count_i >= 17'd65520)", ""),
    ("a wrong bin is forgotten with the next one", "| (error_before_q & !first_q)", ""),
];

const CLUSTERING_FAULTS: &[(&str, &str, &str)] = &[
    ("a tie goes to the higher centroid", "midpoint_2 < key", "midpoint_2 <= key"),
    ("a NaN is above everything", "|values_value_i[16*i +: 10] ? 16'd0", "|values_value_i[16*i +: 10] ? 16'd65535"),
    ("a midpoint of -0 is below 0", "midpoint_i == 16'd32768", "1'b0"),
    ("a NaN of a midpoint is below everything", "|midpoint_i[9:0] ? 16'd65535", "|midpoint_i[9:0] ? 16'd0"),
    ("a wrong candidate", "midpoint_2_bits = {found_1, 1'b0}", "midpoint_2_bits = {found_1, 1'b1}"),
    (
        "the last midpoint is written always",
        "(write_index_i == midpoint_index[2:0]))",
        "(write_index_i == midpoint_index[2:0]) | i == 6)",
    ),
];

const CONCAT_FAULTS: &[(&str, &str, &str)] = &[
    ("outliers count", "valid_i & !outlier_i", "valid_i"),
    ("the weight in the high bits", "{a_i, w_i}", "{w_i, a_i}"),
    ("nothing holds", "if (enable_i) index_q", "index_q"),
];

const COLUMN_FAULTS: &[(&str, &str, &str)] = &[
    ("outliers count", ".outlier_i(pairs_outlier_i[i])", ".outlier_i(1'b0)"),
    ("the scales of another column", "word[read_q]", "word[write_q]"),
    ("pairs are overwritten while the counter is busy", "(!pairs_valid_q | counter_indices_ready)", "1'b1"),
    ("y is overwritten while it waits", "(!y_valid_q | y_ready_i)", "1'b1"),
    ("the weights' scale is 1", "scales_output_data[15:0]", "16'h3c00"),
    ("a neighbour's centroid", "codebook[counter_bins_bin]", "codebook[counter_bins_bin ^ 4'd1]"),
    ("the mode of the next beat", ".indices_integer_i(pairs_integer_q)", ".indices_integer_i(pairs_integer_i)"),
    (
        "scales are fetched over those in use",
        "fetch = scales_output_valid & !scale_valid_q",
        "fetch = scales_output_valid",
    ),
    ("scales leave while they are in use", ".output_ready_i(!scale_valid_q)", ".output_ready_i(1'b1)"),
    ("a wrong sum is not told", "error_q <= sum_sum_error", "error_q <= 1'b0"),
];
