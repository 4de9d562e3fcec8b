//! The refresh controller in all its configurations, and broken ones.

use hdl::blocks::kelle::RefreshController;
use hdl::lang::CatalogBlock;
use models::kelle::refresh::PAPER;
use sim::RunOptions;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use test_tag::tag;
use testbenches::kelle::refresh_controller::{bench, limits};
use testbenches::kelle::refresh_runs::{Counts, bursts, quiet};

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(20_000)).unwrap() {
        assert!(report.compared >= 3 * 16 * 20_000, "{report:?}");
    }
}

#[tag(release)]
#[test]
#[ignore = "a hundred million cycles"]
fn many_cycles() {
    for seed in 2..8 {
        sim::kit::run_all(bench, &RunOptions { seed: seeds::seed(seed), ..options(300_000) }).unwrap();
    }
}

/// The rows of the paper's 4 MB of keys and values of 128 elements. The interval is the longest one with which every
/// row is less than 45 us old at 1 GHz.
const PAPERS_CACHE: RefreshController = RefreshController {
    rows: 8192,
    interval_width: 23,
    interval: 19_456,
    patience: 256,
    tick_log2: 8,
    counter_width: 32,
};

/// Under hostile traffic, some ten rounds.
#[test]
fn rows_of_the_papers_cache() {
    assert!((44_500..45_000).contains(&(PAPERS_CACHE.slack() + u64::from(PAPERS_CACHE.interval))));
    sim::kit::run(&PAPERS_CACHE, bench, &options(16_000)).unwrap_or_else(|e| panic!("{e}"));
}

/// The same, longer; and with the paper's intervals a refresh for each row and interval, whatever the bursts.
#[tag(full)]
#[test]
#[ignore = "millions of cycles"]
fn rows_of_the_papers_cache_whole() {
    sim::kit::run(&PAPERS_CACHE, bench, &options(200_000)).unwrap_or_else(|e| panic!("{e}"));
    let (_, intervals) = PAPER[0];
    // Long enough for the last ones, which wait for the ends of bursts.
    let cycles = 2_400_000;
    let expected = Counts { refreshes: 4096 * (cycles / intervals.high + cycles / intervals.low), stalls: 0 };
    assert_eq!(quiet(8192, intervals, cycles).unwrap(), expected);
    assert_eq!(bursts(8192, intervals, cycles).unwrap(), expected);
}

/// The block's timing equals the contract, which the bench demands.
#[test]
fn stated_limits_are_those_of_the_contract() {
    for block in std::iter::once(RefreshController::default()).chain(RefreshController::configurations()) {
        let limits = limits(&block);
        let stated = (block.wait(), block.slack(), block.shortest_interval());
        assert_eq!(stated, (limits.wait(), limits.slack(), limits.shortest_interval()), "{block:?}");
    }
}

/// The paper's intervals at 1 GHz. Without traffic there is exactly one refresh per valid row and interval. Bursts that
/// read every row and then leave the banks alone as long change nothing, and no access ever waits.
#[test]
fn no_more_than_needed_and_no_stalls() {
    let (_, intervals) = PAPER[0];
    let cycles = 2_200_000;
    let expected = 64 * (cycles / intervals.high + cycles / intervals.low);
    let idle = quiet(128, intervals, cycles).unwrap_or_else(|e| panic!("{e}"));
    let busy = bursts(128, intervals, cycles).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(idle, Counts { refreshes: expected, stalls: 0 });
    assert_eq!(busy, idle);
}

fn broken(faults: &[(&str, Fault)]) {
    let p = RefreshController { rows: 7, interval_width: 8, interval: 20, patience: 9, tick_log2: 0, counter_width: 8 };
    must_be_noticed(&p, bench, 4000, faults);
}

#[test]
fn broken_controllers_are_noticed() {
    let later = "(state_q == StateCheck) & valid & ({1'b0, limit} + 10'd2 <= age) & !fresh_q & !touched";
    broken(&[
        ("accesses always go first", Fault::net("urgent", "1'b0")),
        ("a refresh and an access meet", Fault::net("ready", "1'b1")),
        ("a stale stamp makes a young row old", Fault::net("fresh_q", "1'b0").into("due")),
        ("refreshed rows are forgotten", Fault::net("written", "access_write").into("stamps")),
        ("the classes are exchanged", Fault::net("limit", "high ? low_limit_q : high_limit_q")),
        ("too early", Fault::net("age", "right + 9'd2")),
        ("a unit too late", Fault::operator("due", "<=", "<")),
        ("two units too late", Fault::net("due", later)),
        ("promotions wait for the walk", Fault::net("take_hint", "1'b0")),
        ("waiting is free", Fault::net("spend", "hinted_q & |credit_q")),
    ]);
}

#[tag(full)]
#[test]
#[ignore = "one Verilator model for each fault"]
fn more_broken_controllers_are_noticed() {
    broken(&[
        ("a write during a refresh is lost", Fault::net("refresh_write_o", "(state_q == StateWrite) & (touched | go)")),
        ("a write while looking is missed", Fault::net("touched", "1'b0").into("due")),
        ("writes do not count", Fault::net("written", "refresh_write").into("stamps")),
        ("the wrong row is stamped", Fault::net("written_row", "access_row_i")),
        ("invalid rows are refreshed", Fault::net("valid", "1'b1").into("go")),
        ("too short intervals are taken", Fault::net("feasible", "1'b1").into("low_limit_q")),
        ("the walk skips a row", Fault::net("walk_next", "last ? 3'd1 : right")),
        ("stalls are not counted", Fault::net("access_valid_i", "right & access_write_i").into("stalls_q")),
    ]);
}

/// Rows that no schedule can refresh in time are refused before anything is built.
#[test]
fn impossible_schedules_are_refused() {
    let p = RefreshController { rows: 100, interval_width: 10, interval: 199, ..RefreshController::default() };
    let error = hdl::lang::elaborate(&p).unwrap_err().to_string();
    assert!(error.contains("`interval` is 199, allowed: 200 to 1023"), "{error}");
}
