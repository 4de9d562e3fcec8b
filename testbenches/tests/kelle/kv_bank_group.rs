//! The bank group: configurations, attacks on the refresh, broken ones.

use hdl::blocks::kelle::KvBankGroup;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use sim::{Design, RunOptions};
use test_tag::tag;
use testbenches::kelle::kv_bank_group::{CYCLES, Mode, attack, bench};

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(1500)).unwrap() {
        assert!(report.compared >= 50_000, "{report:?}");
    }
}

/// The group under attack: always busy, bursts aimed at the deadline, mass promotion, the shortest legal interval.
fn attacked() -> KvBankGroup {
    let mut all = KvBankGroup::configurations().into_iter();
    all.find(|p| p.retention_model).unwrap_or_else(|| panic!("a configuration has the retention model"))
}

/// Millions of cycles: no bit flips while intervals are safe; otherwise exactly the flips of the golden cells.
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

fn attack_with(draws: std::ops::Range<u64>) {
    let p = attacked();
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    for seed in draws {
        for mode in [Mode::Safe, Mode::Tightest, Mode::Unsafe] {
            let bench = attack(&p, vec![mode]).unwrap_or_else(|e| panic!("{e}"));
            let options = RunOptions { seed: seeds::seed(seed), ..options(500_000) };
            sim::run(&*bench, &design, &options).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

#[tag(full)]
#[test]
#[ignore = "24 million cycles"]
fn attack_on_the_refresh_whole() {
    attack_with(2..3);
}

#[tag(release)]
#[test]
#[ignore = "minutes: 72 million cycles"]
fn attack_on_the_refresh_all() {
    attack_with(3..6);
}

/// The attack must lose bits when the refresh is broken.
#[test]
fn broken_groups_are_noticed() {
    let safe = |p: &KvBankGroup| attack(p, vec![Mode::Safe]);
    let faults = [
        ("a refresh writes the word before", Fault::net("refreshed", "buffer_q").module("edram_bank")),
        (
            "elements are exchanged",
            Fault::net("g_bank[0].bank_data_in", "{right[7:0], right[15:8]}").module("byte_banks"),
        ),
        (
            "scores of new tokens stay",
            Fault::net("g_rows[1].is_set", "1'b0").into("g_rows[1].score_q").module("score_register_file"),
        ),
    ];
    must_be_noticed(&attacked(), safe, 6000, &faults);
}
