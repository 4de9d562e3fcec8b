//! The refresh controller in all its configurations, and broken ones.

use hdl::blocks::kelle::RefreshController;
use sim::{Design, RunOptions};
use testbenches::kelle::refresh_controller::bench;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &RunOptions { vectors: 4000, ..RunOptions::default() }).unwrap() {
        assert!(report.compared >= 3 * 16 * 4000, "{report:?}");
    }
}

/// What the golden checker must notice: each edit breaks one thing.
#[test]
fn broken_controllers_are_noticed() {
    let p = RefreshController { rows: 7, interval_width: 8, interval: 20, patience: 9, tick_log2: 0, counter_width: 8 };
    let whole = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let faults = [
        ("accesses always go first", "credit_q < 4'd3", "1'b0"),
        ("a refresh and an access meet", "!(serving & urgent)", "1'b1"),
        ("a write during a refresh is lost", "assign refresh_write_o = refresh_write", "assign refresh_write_o = (state_q == StateWrite) & (touched | go)"),
        ("a stale stamp makes a young row old", "!fresh_q & !touched", "!touched"),
        ("a write while looking is missed", "& !touched;", ";"),
        ("refreshed rows are forgotten", "if (written) stamps", "if (access_write) stamps"),
        ("writes do not count", "if (written) stamps", "if (refresh_write) stamps"),
        ("the wrong row is stamped", "refresh_write ? row_q : access_row_i", "access_row_i"),
        ("the classes are exchanged", "high ? high_limit_q : low_limit_q", "high ? low_limit_q : high_limit_q"),
        ("one cycle early", "<= age", "<= age + 8'd2"),
        ("invalid rows are refreshed", "wire go = serving & valid", "wire go = serving"),
        ("waiting is free", "wire spend = (hinted_q | (serving & !go))", "wire spend = hinted_q"),
        ("too short intervals are taken", "if (config_valid_i & feasible) low", "if (config_valid_i) low"),
        ("the walk skips a row", "last ? 3'd0", "last ? 3'd1"),
        ("stalls are not counted", "access_valid_i & !ready", "access_valid_i & !ready & access_write_i"),
    ];
    for (what, right, wrong) in faults {
        let mut design = whole.clone();
        let mut changed = 0;
        for file in &mut design.files {
            // Not the formal section, which repeats some expressions.
            let (logic, formal) = file.text.split_once("`ifdef FORMAL").unwrap_or((&file.text, ""));
            changed += logic.matches(right).count();
            file.text = format!("{}`ifdef FORMAL{formal}", logic.replace(right, wrong));
        }
        assert!(changed > 0, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let options = RunOptions { vectors: 4000, waves: Some(waves.path().into()), ..RunOptions::default() };
        let bench = bench(&p).unwrap_or_else(|e| panic!("{e}"));
        let error = sim::run(&*bench, &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}

/// Rows that no schedule can refresh in time are refused before anything is built.
#[test]
fn impossible_schedules_are_refused() {
    let p = RefreshController { rows: 100, interval_width: 10, interval: 199, ..RefreshController::default() };
    let error = hdl::lang::elaborate(&p).unwrap_err().to_string();
    assert!(error.contains("`interval` is 199, allowed: 200 to 1023"), "{error}");
}
