//! Orizuru in all its configurations, on made vectors and on the activations of the real model.

use hdl::blocks::kllm::{Orizuru, OrizuruUnit, TreeStyle};
use hdl::lang::CatalogBlock;
use sim::stimulus::real_rows;
use sim::{Design, RunOptions};
use testbenches::kllm::orizuru::{bench, bench_of, timing};
use testbenches::kllm::orizuru_unit;
use testbenches::options;

#[test]
fn unit_configurations() {
    for block in std::iter::once(OrizuruUnit::default()).chain(OrizuruUnit::configurations()) {
        let options = options(60);
        testbenches::run(&block, orizuru_unit::bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn configurations() {
    for block in Orizuru::configurations() {
        let options = options(60);
        testbenches::run(&block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// The paper's size: 4096 values, 273 units.
#[test]
fn default_size() {
    let options = options(20);
    testbenches::run(&Orizuru::default(), bench, &options).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn real_activations() {
    // The input of the down projection: 1536 wide, with the strongest outliers of the model.
    let tree = TreeStyle { count_comparisons: true, ..TreeStyle::default() };
    let block = Orizuru { n: 1536, k_max: 8, k_min: 8, tree, ..Orizuru::default() };
    let design = Design::from(&hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}")));
    for name in ["l02_down_in", "l28_down_in"] {
        let rows: Vec<_> = real_rows(name).unwrap_or_else(|e| panic!("{e}")).into_iter().take(16).collect();
        let options = options(rows.len() as u64);
        let bench = bench_of(&block, rows).unwrap_or_else(|e| panic!("{e}"));
        sim::run(&*bench, &design, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// What `info` says of cycles is what the contract says, which the bench demands.
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
    let block = Orizuru { n: 17, k_max: 9, k_min: 9, ..Orizuru::default() };
    let whole = Design::from(&hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}")));
    let faults = [
        ("a tie goes to the higher index", "key[2*i] < key[2*i + 1]", "key[2*i] <= key[2*i + 1]"),
        ("a popped leaf stays available", "& !max_popped[i]", ""),
        ("the outlier mask forgets the minima", "outlier_q | max_popped", "outlier_q | min_popped"),
        ("negative values keep their order", "^ {15{load_data_i[16*i + 31]}}", ""),
        ("the stream ends late", "max_left_q == 4'd1", "max_left_q == 4'd0"),
        ("a clear keeps the place in the vector", "if (load_fire | clear_i) beat_q", "if (load_fire) beat_q"),
        ("the upper tree starts early", "update_1_q <= update_i", "update_1_q <= init_i"),
    ];
    for (what, right, wrong) in faults {
        let mut design = whole.clone();
        let mut changed = 0;
        for file in &mut design.files {
            changed += file.text.matches(right).count();
            file.text = file.text.replace(right, wrong);
        }
        assert!(changed > 0, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let options = RunOptions { vectors: 40, waves: Some(waves.path().into()), ..RunOptions::default() };
        let bench = bench(&block).unwrap_or_else(|e| panic!("{e}"));
        let error = sim::run(&*bench, &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}
