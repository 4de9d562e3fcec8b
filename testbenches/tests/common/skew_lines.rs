//! The skew lines in all their configurations, and broken ones.

use hdl::blocks::common::SkewLines;
use sim::{Design, RunOptions};
use testbenches::common::skew_lines::bench;
use testbenches::options;

#[test]
fn configurations() {
    for report in testbenches::run_all(bench, &options(200)).unwrap() {
        assert_eq!(report.compared, 200 + 1, "{report:?}");
    }
}

#[test]
fn broken_lines_are_noticed() {
    let p = SkewLines { lanes: 3, width: 4, ..SkewLines::default() };
    let whole = Design::from(&hdl::lang::elaborate(&p).unwrap());
    for (from, to) in [("= line[1]", "= line[0]"), (": line[i]", ": line[0]")] {
        let mut broken = whole.clone();
        for file in &mut broken.files {
            file.text = file.text.replace(from, to);
        }
        assert_ne!(broken.files, whole.files, "nothing to replace: {from}");
        let waves = tempfile::tempdir().unwrap();
        let options = RunOptions { vectors: 50, waves: Some(waves.path().into()), ..RunOptions::default() };
        let error = sim::run(&*bench(&p).unwrap(), &broken, &options).unwrap_err();
        assert!(error.mismatch().is_some(), "{error}");
    }
}
