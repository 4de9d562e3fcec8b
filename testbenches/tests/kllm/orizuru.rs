//! Orizuru in all its configurations, on made vectors and on the activations of the real model.

use hdl::blocks::kllm::{Orizuru, TreeStyle};
use hdl::lang::CatalogBlock;
use sim::Design;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use sim::stimulus::real_rows;
use test_tag::tag;
use testbenches::kllm::orizuru::{bench, bench_of, timing};

#[test]
fn configurations() {
    for block in seeds::some(&Orizuru::configurations(), 4) {
        let options = options(60);
        sim::kit::run(block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// The paper's size: 4096 values, 273 units.
#[tag(full)]
#[test]
#[ignore = "minutes: a model of 273 units"]
fn default_size() {
    let options = options(20);
    sim::kit::run(&Orizuru::default(), bench, &options).unwrap_or_else(|e| panic!("{e}"));
}

/// Rows of tensors of the model of so many channels, with as many outliers a side.
fn real((n, k): (u32, u32), names: &[&str]) {
    let tree = TreeStyle { count_comparisons: true, ..TreeStyle::default() };
    let block = Orizuru { n, k_max: k, k_min: k, tree, ..Orizuru::default() };
    let design = Design::from(&hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}")));
    for name in names {
        let rows: Vec<_> = real_rows(name).unwrap_or_else(|e| panic!("{e}")).into_iter().take(6).collect();
        let options = options(rows.len() as u64);
        let bench = bench_of(&block, rows).unwrap_or_else(|e| panic!("{e}"));
        sim::run(&*bench, &design, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn real_activations() {
    real((576, 3), &["l02_ffn_in", "l28_attn_in"]);
}

/// The input of the down projection has the strongest outliers of the model.
#[tag(full)]
#[test]
#[ignore = "a minute: a model for 1536 values"]
fn real_activations_whole() {
    real((1536, 8), &["l02_down_in", "l28_down_in"]);
}

/// The cycles in `info` equal the contract, which the bench demands.
#[test]
fn stated_cycles_are_those_of_the_contract() {
    for block in std::iter::once(Orizuru::default()).chain(Orizuru::configurations()) {
        let timing = timing(&block);
        let stated = [block.beats(), block.init_cycles(), block.pop_cycles()].map(u64::from);
        assert_eq!(stated, [timing.load(), timing.first_pop(), timing.next_pop()], "{block:?}");
    }
}

/// Every deliberate fault in the hardware must be seen.
#[test]
fn faults_are_found() {
    let faults = [
        ("a tie goes to the higher index", Fault::operator("right_greater[3]", "<", "<=").module("orizuru_unit")),
        (
            "a popped leaf stays available",
            Fault::net("max_popped[3]", "1'b0").into("g_leaves[3].max_available_q").module("orizuru_unit"),
        ),
        (
            "the outlier mask forgets a maximum",
            Fault::net("max_popped[3]", "1'b0").into("g_leaves[3].outlier_q").module("orizuru_unit"),
        ),
        ("negative values keep their order", Fault::net("load_key[0]", "{right[15], load_data_i[14:0]}")),
        ("the stream ends late", Fault::net("max_last_o", "max_left_q == 4'd0")),
        ("a clear does not go back to the start of the vector", Fault::net("restart", "last_beat")),
        (
            "the upper tree starts early",
            Fault::net("update_i", "init_i").into("update_1_q").module("orizuru_tree_max_r2"),
        ),
    ];
    must_be_noticed(&Orizuru { n: 17, k_max: 9, k_min: 9, ..Orizuru::default() }, bench, 40, &faults);
}
