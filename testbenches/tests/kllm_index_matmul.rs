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
use sim::{Bench, Design, RunOptions};
use testbenches::kllm::clustering_unit::{self, ClusteringBench};
use testbenches::kllm::index_distribution_counter::{self as counter, CounterBench};
use testbenches::kllm::index_matmul_column::{self as column, ColumnBench, Task};
use testbenches::kllm::{concat_unit, fp16_mac, vectors::real_rows, weighted_sum};
use testbenches::{MakeBench, run, run_all};

fn vectors(vectors: u64) -> RunOptions {
    RunOptions { vectors, ..RunOptions::default() }
}

fn configurations<B: CatalogBlock>(make: MakeBench<B>, number: u64) {
    for block in B::configurations() {
        run(&block, make, &vectors(number)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn concat_units() {
    run_all(concat_unit::bench, &vectors(1000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn counters() {
    configurations::<IndexDistributionCounter>(counter::bench, 120);
}

#[test]
fn macs() {
    run_all(fp16_mac::bench, &vectors(20_000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn weighted_sums() {
    run_all(weighted_sum::bench, &vectors(600)).unwrap_or_else(|e| panic!("{e}"));
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
        run(&block, counter::bench, &vectors(24)).unwrap_or_else(|e| panic!("{e}"));
    }
}

fn bench_of<B: Block>(block: &B, bench: &dyn Bench, options: &RunOptions) -> sim::Result<sim::RunReport> {
    sim::run(bench, &Design::from(&elaborate(block).unwrap_or_else(|e| panic!("{e}"))), options)
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
        let rows = |file| real_rows(file).unwrap_or_else(|e| panic!("{e}"));
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
    let block = IndexMatmulColumn { k: 1536, ..IndexMatmulColumn::default() };
    let mut tasks = vec![];
    for (input, weight, a_bits) in [
        ("l02_down_in.npy", "l02_w_down.npy", 4),
        ("l28_down_in.npy", "l28_w_down.npy", 4),
        ("l14_attn_in.npy", "l14_w_q.npy", 4),
        ("l28_down_in.npy", "l28_w_down.npy", 3),
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
    let bench = ColumnBench::new(&block, tasks).unwrap_or_else(|e| panic!("{e}"));
    bench_of(&block, &bench, &vectors(1)).unwrap_or_else(|e| panic!("{e}"));
}

/// The clustering unit gives the model's activations the indices that the quantisation gives them; and all 65,536 fp16
/// values those of the definition.
#[test]
fn clustering_of_real_activations_and_of_all_values() {
    let real = Real::new("l28_down_in.npy", "l28_w_down.npy", 4, Accumulator::Fp16Fused);
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
        let bench = ClusteringBench::new(&block, tasks.clone()).unwrap_or_else(|e| panic!("{e}"));
        bench_of(&block, &bench, &vectors(600)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// K = 4096 end to end: 256 beats and 256 bins, an output every 256 cycles, the first after 516.
#[test]
fn column_of_the_papers_size() {
    let block = IndexMatmulColumn::default();
    assert_eq!(block.cycles(256, 256), 516);
    run(&block, column::bench, &vectors(24)).unwrap_or_else(|e| panic!("{e}"));
}

/// The other sums at the paper's size.
#[test]
#[ignore = "minutes: other sums at the paper's size"]
fn large_columns() {
    for (accumulate, fused, stages) in [(FloatFormat::Fp16, false, 3), (FloatFormat::Fp32, true, 2)] {
        let block = IndexMatmulColumn { accumulate, fused, stages, ..IndexMatmulColumn::default() };
        run(&block, column::bench, &vectors(80)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Every deliberate fault in the hardware must be seen.
fn faults_are_found<B: Block>(block: &B, bench: &dyn Bench, number: u64, faults: &[(&str, &str, &str)]) {
    let whole = Design::from(&elaborate(block).unwrap_or_else(|e| panic!("{e}")));
    for (what, right, wrong) in faults {
        let mut design = whole.clone();
        let mut changed = 0;
        for file in &mut design.files {
            changed += file.text.matches(right).count();
            file.text = file.text.replace(right, wrong);
        }
        assert!(changed > 0, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let options = RunOptions { waves: Some(waves.path().into()), ..vectors(number) };
        let error = sim::run(bench, &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}

#[test]
fn faults_of_the_counter() {
    let block = IndexDistributionCounter {
        a_bits: 2,
        b_bits: 2,
        inputs: 4,
        k: 256,
        ..IndexDistributionCounter::default()
    };
    assert_eq!((block.bin_width(), block.log_entries()), (6, 8));
    let bench = CounterBench::new(&block, vec![]).unwrap_or_else(|e| panic!("{e}"));
    faults_are_found(&block, &bench, 120, COUNTER_FAULTS);
}

const COUNTER_FAULTS: &[(&str, &str, &str)] = &[];

#[test]
fn faults_of_the_others() {
    let block = Fp16Mac { fused: false, stages: 3, ..Fp16Mac::default() };
    let bench = fp16_mac::bench(&block).unwrap_or_else(|e| panic!("{e}"));
    faults_are_found(&block, &*bench, 4000, MAC_FAULTS);
    let block = WeightedSum { count_width: 9, ..WeightedSum::default() };
    let bench = weighted_sum::bench(&block).unwrap_or_else(|e| panic!("{e}"));
    faults_are_found(&block, &*bench, 400, SUM_FAULTS);
    let block = ClusteringUnit { bits: 3, lanes: 2, search: Search::Binary, pipelined: false };
    let bench = clustering_unit::bench(&block).unwrap_or_else(|e| panic!("{e}"));
    faults_are_found(&block, &*bench, 6000, CLUSTERING_FAULTS);
    let block = ConcatUnit::default();
    let bench = concat_unit::bench(&block).unwrap_or_else(|e| panic!("{e}"));
    faults_are_found(&block, &*bench, 1000, CONCAT_FAULTS);
}

const MAC_FAULTS: &[(&str, &str, &str)] = &[];
const SUM_FAULTS: &[(&str, &str, &str)] = &[];
const CLUSTERING_FAULTS: &[(&str, &str, &str)] = &[];
const CONCAT_FAULTS: &[(&str, &str, &str)] = &[];

#[test]
fn faults_of_the_column() {
    let block = IndexMatmulColumn { a_bits: 2, b_bits: 2, inputs: 4, k: 64, ..IndexMatmulColumn::default() };
    let bench = column::bench(&block).unwrap_or_else(|e| panic!("{e}"));
    faults_are_found(&block, &*bench, 80, COLUMN_FAULTS);
}

const COLUMN_FAULTS: &[(&str, &str, &str)] = &[];
