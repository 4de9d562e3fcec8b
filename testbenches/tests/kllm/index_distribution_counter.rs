//! The counter of indices in all configurations, at the paper's size, and broken ones.

use hdl::blocks::kllm::{BinStyle, IndexDistributionCounter};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use testbenches::kllm::index_distribution_counter::bench;

use crate::configurations;

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
    must_be_noticed(&small(), bench, 120, &faults());
}

fn small() -> IndexDistributionCounter {
    let block =
        IndexDistributionCounter { a_bits: 2, b_bits: 2, inputs: 4, k: 256, ..IndexDistributionCounter::default() };
    assert_eq!((block.bin_width(), block.log_entries()), (6, 8));
    block
}

fn faults() -> Vec<(&'static str, Fault)> {
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
        (
            "an overflow at the swap is lost",
            Fault::net("log_used[0]", "1'b0").into("g_snapshot_log[0].snapshot_log_used_q"),
        ),
        ("too many inputs are forgotten with the next beat", Fault::net("error_q", "right & !fire").into("error_q")),
        ("every beat sets the mode", Fault::net("mode", "indices_integer_i")),
    ]
}
