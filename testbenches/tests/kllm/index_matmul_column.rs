//! A column of the index-based MatMul: all configurations, real tensors, the paper's size, broken hardware.

use golden::kllm::index_matmul::Accumulator;
use hdl::blocks::common::FloatFormat;
use hdl::blocks::kllm::{Fp16Mac, IndexDistributionCounter, IndexMatmulColumn};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use test_tag::tag;
use testbenches::kllm::index_matmul_column::{Task, bench, bench_of};

use crate::real::Real;
use crate::{configurations, run_with};

#[test]
fn all_configurations() {
    configurations(bench, 60);
}

/// The whole datapath on the model's tensors, for both activation widths on the same hardware. The golden column equals
/// the algorithm's dense output bit by bit, and the hardware equals the golden column.
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
            // The lower half of the hardware's bins; the contents of the others must not matter.
            columns.iter_mut().for_each(|c| c.half = true);
            codebook.resize(256, 0x7e00);
        }
        for (column, expected) in columns.iter().zip(expected) {
            assert_eq!(golden.y(column, &codebook).unwrap_or_else(|e| panic!("{e}")), expected);
        }
        tasks.push(Task { codebook, columns });
    }
    run_with(&block, bench_of(&block, tasks), 1).unwrap_or_else(|e| panic!("{e}"));
}

/// K = 4096 end to end: 256 beats and 256 bins, an output every 256 cycles, the first after 516.
#[test]
fn the_papers_size() {
    let block = IndexMatmulColumn::default();
    assert_eq!(block.cycles(256, 256), 516);
    run(&block, bench, &options(24)).unwrap_or_else(|e| panic!("{e}"));
}

/// The other sums at the paper's size.
#[tag(full)]
#[test]
#[ignore = "minutes: other sums at the paper's size"]
fn other_sums() {
    for (accumulate, fused, stages) in [(FloatFormat::Fp16, false, 3), (FloatFormat::Fp32, true, 2)] {
        let mac = Fp16Mac { accumulate, fused, stages, ..Fp16Mac::default() };
        let block = IndexMatmulColumn { mac, ..IndexMatmulColumn::default() };
        run(&block, bench, &options(80)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn faults_are_found() {
    must_be_noticed(&small(), bench, 80, &faults());
}

fn small() -> IndexMatmulColumn {
    let counter =
        IndexDistributionCounter { a_bits: 2, b_bits: 2, inputs: 4, k: 64, ..IndexDistributionCounter::default() };
    IndexMatmulColumn { counter, ..IndexMatmulColumn::default() }
}

fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("outliers count", Fault::net("pairs_outlier_i", "4'd0")),
        ("the scales of another column", Fault::net("output_data_o", "word[write_q]").module("stream_fifo")),
        ("pairs are overwritten while the counter is busy", Fault::net("pairs_ready_o", "!scales_full")),
        ("y does not wait", Fault::net("y_ready_i", "1'b1")),
        ("the weights' scale is 1", Fault::net("scales_output_data", "{right[31:16], 16'h3c00}")),
        ("a neighbour's centroid", Fault::net("centroid", "codebook[counter_bins_bin ^ 4'd1]")),
        ("the mode of the next beat", Fault::net("pairs_integer_q", "pairs_integer_i").into("u_counter")),
        ("scales are fetched over scales in use", Fault::net("fetch", "scales_output_valid")),
        ("scales leave while they are in use", Fault::net("scale_valid_q", "1'b0").into("u_scales")),
        ("a wrong sum is not told", Fault::net("sum_sum_error", "1'b0")),
    ]
}
