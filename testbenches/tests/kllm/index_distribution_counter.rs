//! The counter of indices in all configurations, at the paper's size, and broken ones.

use hdl::blocks::kllm::{BinStyle, IndexDistributionCounter};
use testbenches::kllm::index_distribution_counter::bench;
use testbenches::{options, run};

use crate::{configurations, each};

#[test]
fn all_configurations() {
    configurations(bench, 120);
}

/// Both micro-architectures of the counter, at the paper's size: 4,096 indices a column, 256 bins, 16 a cycle.
#[test]
fn the_papers_size() {
    for bins in [BinStyle::FullWidth, BinStyle::OverflowLog] {
        let block = IndexDistributionCounter { bins, ..IndexDistributionCounter::default() };
        run(&block, bench, &options(24)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn faults_are_found() {
    faults(1);
}

#[test]
#[ignore = "minutes: a model for each fault"]
fn large_all_faults_are_found() {
    faults(usize::MAX);
}

/// Runs the first `most` faults.
fn faults(most: usize) {
    let block =
        IndexDistributionCounter { a_bits: 2, b_bits: 2, inputs: 4, k: 256, ..IndexDistributionCounter::default() };
    assert_eq!((block.bin_width(), block.log_entries()), (6, 8));
    each(&block, bench, 120, FAULTS, most);
}

const FAULTS: &[(&str, &str, &str)] = &[
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
