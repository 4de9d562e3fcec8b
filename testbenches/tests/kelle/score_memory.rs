//! The score memory in all its configurations, at the paper's size, and broken ones.

use hdl::blocks::kelle::ScoreMemory;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::kelle::score_memory::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(8000)).unwrap() {
        assert!(report.compared >= 20_000, "{report:?}");
    }
}

/// Rows of the paper's 4 MB, of 32 heads.
#[test]
fn rows_of_the_papers_cache() {
    let block = ScoreMemory { rows: 8192, heads: 32, ..ScoreMemory::default() };
    let report = sim::kit::run(&block, bench, &options(60_000)).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.compared >= 100_000, "{report:?}");
}

/// Rows of 32 heads of 2,048 tokens, which may come with a score.
#[test]
fn rows_of_long_heads() {
    let block = ScoreMemory { rows: 65_568, heads: 32, restores: true, ..ScoreMemory::default() };
    let report = sim::kit::run(&block, bench, &options(200_000)).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.compared >= 200_000, "{report:?}");
}

#[test]
fn broken_score_memories_are_noticed() {
    let faults = [
        ("scores never age", Fault::net("halve", "1'b0")),
        ("saturation is forgotten", Fault::net("ages", "right & over").into("saturated_q")),
        ("what is read does not age", Fault::net("read_behind", "1'b0")),
        ("what is written in the cycle before is not seen", Fault::net("read_meets_q", "1'b0")),
        ("a new epoch is not written", Fault::net("read_epoch", "g_heads[0].epoch_q").into("write_word")),
        ("rows are not emptied", Fault::net("empties_q", "1'b0").into("holds")),
        ("a clear goes before a set", Fault::net("holds", "!empties_q & !clear_valid_i")),
        ("a score that comes is lost", Fault::net("set_score_i", "4'd0")),
        ("a score comes with any write", Fault::net("set_valid_i", "1'b1").into("write_word")),
    ];
    let sizes = ScoreMemory { rows: 6, score_width: 4, amount_width: 6, heads: 2, ..ScoreMemory::default() };
    let block = ScoreMemory { restores: true, ..sizes };
    must_be_noticed(&block, bench, 8000, &faults);
}
