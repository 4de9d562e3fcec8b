//! eDRAM banks, score files and bank groups: configurations, attacks on the refresh, broken ones.

use hdl::blocks::common::RamImplementation;
use hdl::blocks::kelle::{EdramBank, KvBankGroup, ScoreRegisterFile};
use hdl::lang::CatalogBlock;
use sim::{Design, RunOptions};
use testbenches::kelle::faults::must_be_noticed;
use testbenches::kelle::kv_bank_group::{CYCLES, Mode, attack};
use testbenches::kelle::{edram_bank, kv_bank_group, score_register_file};
use testbenches::options;

#[test]
fn all_banks() {
    for report in testbenches::run_all(edram_bank::bench, &options(20_000)).unwrap() {
        assert!(report.compared >= 2000, "{report:?}");
    }
}

#[test]
fn all_score_files() {
    for report in testbenches::run_all(score_register_file::bench, &options(5000)).unwrap() {
        assert!(report.compared >= 20_000, "{report:?}");
    }
}

#[test]
fn all_groups() {
    for report in testbenches::run_all(kv_bank_group::bench, &options(1500)).unwrap() {
        assert!(report.compared >= 50_000, "{report:?}");
    }
}

/// The group under attack: always busy, bursts aimed at the deadline, mass promotion, the shortest legal interval.
fn attacked() -> KvBankGroup {
    let mut all = KvBankGroup::configurations().into_iter();
    all.find(|p| p.retention_model).unwrap_or_else(|| panic!("a configuration has the retention model"))
}

/// Millions of cycles: no bit flips while intervals are safe; otherwise exactly those of the golden cells.
#[test]
fn attack_on_the_refresh() {
    let p = attacked();
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    for (mode, cycles) in [(Mode::Safe, 1_200_000), (Mode::Tightest, 1_200_000), (Mode::Unsafe, 400_000)] {
        let bench = attack(&p, vec![mode]).unwrap_or_else(|e| panic!("{e}"));
        let report = sim::run(&*bench, &design, &options(cycles / CYCLES)).unwrap_or_else(|e| panic!("{e}"));
        assert!(report.cycles >= cycles, "{report:?}");
    }
}

#[test]
#[ignore = "a hundred million cycles"]
fn large_attack_on_the_refresh() {
    let p = attacked();
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    for seed in 2..6 {
        for mode in [Mode::Safe, Mode::Tightest, Mode::Unsafe] {
            let bench = attack(&p, vec![mode]).unwrap_or_else(|e| panic!("{e}"));
            let options = RunOptions { seed: seeds::seed(seed), ..options(500_000) };
            sim::run(&*bench, &design, &options).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// The attack must lose bits when the refresh is broken.
#[test]
fn broken_groups_are_noticed() {
    let p = attacked();
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = attack(&p, vec![Mode::Safe]).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in [
        ("a refresh writes the word before", "fetched_q ? word : buffer_q", "buffer_q"),
        ("elements are exchanged", "{bytes[1], bytes[0]}", "{bytes[0], bytes[1]}"),
        ("scores of new tokens stay", "is_set ? 4'd0 :", "1'b0 ? 4'd0 :"),
    ] {
        must_be_noticed(&*bench, &design, 6000, what, right, wrong);
    }
}

#[test]
fn broken_banks_are_noticed() {
    let p = EdramBank { rows: 9, width: 16, implementation: RamImplementation::Inferred, retention_model: true };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = edram_bank::bench(&p).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in [
        ("a row is young again by a read", "if (write) restored", "if (write | read) restored"),
        ("bits die a cycle early", "< row_age", "<= row_age"),
        ("the bank reads in each cycle", "wire read = refresh ?", "wire read = !refresh | refresh ?"),
        ("a write beside a refresh read is made", "refresh ? back : write_i", "back | write_i"),
        ("a write-back of nothing is made", "refresh_write_i & loaded_q &", "refresh_write_i &"),
    ] {
        must_be_noticed(&*bench, &design, 20_000, what, right, wrong);
    }
}

#[test]
fn broken_score_files_are_noticed() {
    let p = ScoreRegisterFile { rows: 7, score_width: 4, amount_width: 9 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = score_register_file::bench(&p).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in [
        ("scores never age", "wire halve = ages & step_i", "wire halve = 1'b0 & ages & step_i"),
        ("saturation is forgotten", "saturated_q <= ages & !step_i", "saturated_q <= ages & over & !step_i"),
    ] {
        must_be_noticed(&*bench, &design, 5000, what, right, wrong);
    }
}
