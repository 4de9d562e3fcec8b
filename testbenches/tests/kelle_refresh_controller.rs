//! The refresh controller in all its configurations, and broken ones.

use hdl::blocks::kelle::RefreshController;
use hdl::lang::CatalogBlock;
use models::kelle::refresh::PAPER;
use sim::{Design, RunOptions};
use testbenches::kelle::faults::must_be_noticed;
use testbenches::kelle::refresh_controller::{bench, limits};
use testbenches::kelle::refresh_runs::{Counts, bursts, quiet};
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(20_000)).unwrap() {
        assert!(report.compared >= 3 * 16 * 20_000, "{report:?}");
    }
}

#[test]
#[ignore = "a hundred million cycles"]
fn large_many_cycles() {
    for seed in 2..8 {
        testbenches::run_all(bench, &RunOptions { seed: seeds::seed(seed), ..options(300_000) }).unwrap();
    }
}

/// What the block says of itself is what the contract says, which the bench demands.
#[test]
fn stated_limits_are_those_of_the_contract() {
    for block in std::iter::once(RefreshController::default()).chain(RefreshController::configurations()) {
        let limits = limits(&block);
        let stated = (block.wait(), block.slack(), block.shortest_interval());
        assert_eq!(stated, (limits.wait(), limits.slack(), limits.shortest_interval()), "{block:?}");
    }
}

/// The paper's intervals at 1 GHz: without traffic exactly one refresh per valid row and interval; with bursts that read
/// every row and leave the banks alone as long, the same, and no access ever waits.
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

type Fault = (&'static str, &'static str, &'static str);

fn broken(faults: &[Fault]) {
    let p = RefreshController { rows: 7, interval_width: 8, interval: 20, patience: 9, tick_log2: 0, counter_width: 8 };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = bench(&p).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in faults {
        must_be_noticed(&*bench, &design, 4000, what, right, wrong);
    }
}

#[test]
fn broken_controllers_are_noticed() {
    broken(&[
        ("accesses always go first", "credit_q < 4'd3", "1'b0"),
        ("a refresh and an access meet", "!(serving & urgent)", "1'b1"),
        ("a stale stamp makes a young row old", "!fresh_q & !touched", "!touched"),
        ("refreshed rows are forgotten", "if (written) stamps", "if (access_write) stamps"),
        ("the classes are exchanged", "high ? high_limit_q : low_limit_q", "high ? low_limit_q : high_limit_q"),
        ("too early", "<= age", "<= age + 8'd2"),
        ("a unit too late", "<= age", "< age"),
        ("two units too late", "limit} <= age", "limit} + 9'd2 <= age"),
        ("promotions wait for the walk", "wire take_hint = step &", "wire take_hint = 1'b0 & step &"),
        ("waiting is free", "wire spend = (hinted_q | (serving & !go))", "wire spend = hinted_q"),
    ]);
}

#[test]
#[ignore = "one Verilator model for each fault"]
fn large_more_broken_controllers_are_noticed() {
    broken(&[
        (
            "a write during a refresh is lost",
            "assign refresh_write_o = refresh_write",
            "assign refresh_write_o = (state_q == StateWrite) & (touched | go)",
        ),
        ("a write while looking is missed", "& !touched;", ";"),
        ("writes do not count", "if (written) stamps", "if (refresh_write) stamps"),
        ("the wrong row is stamped", "refresh_write ? row_q : access_row_i", "access_row_i"),
        ("invalid rows are refreshed", "wire go = serving & valid", "wire go = serving"),
        ("too short intervals are taken", "if (config_valid_i & feasible) low", "if (config_valid_i) low"),
        ("the walk skips a row", "last ? 3'd0", "last ? 3'd1"),
        ("stalls are not counted", "access_valid_i & !ready", "access_valid_i & !ready & access_write_i"),
    ]);
}

/// Rows that no schedule can refresh in time are refused before anything is built.
#[test]
fn impossible_schedules_are_refused() {
    let p = RefreshController { rows: 100, interval_width: 10, interval: 199, ..RefreshController::default() };
    let error = hdl::lang::elaborate(&p).unwrap_err().to_string();
    assert!(error.contains("`interval` is 199, allowed: 200 to 1023"), "{error}");
}
