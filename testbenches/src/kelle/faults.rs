//! Hardware that is broken on purpose: a bench that has not been seen to fail proves nothing.

use sim::{Bench, Design, RunOptions};

/// Replaces `right` by `wrong` in the logic of `design` (not in its formal sections) and demands that `bench` notices.
///
/// # Panics
/// When there is nothing to replace, or the bench passes.
pub fn must_be_noticed(bench: &dyn Bench, design: &Design, vectors: u64, what: &str, right: &str, wrong: &str) {
    let mut design = design.clone();
    let mut changed = 0;
    for file in &mut design.files {
        let (logic, formal) = file.text.split_once("`ifdef FORMAL").unwrap_or((&file.text, "`endif"));
        changed += logic.matches(right).count();
        file.text = format!("{}`ifdef FORMAL{formal}", logic.replace(right, wrong));
    }
    assert!(changed > 0, "{what}: no `{right}` in the Verilog");
    let waves = std::env::temp_dir().join(format!("senbazuru-faults-{}", std::process::id()));
    let options = RunOptions { vectors, waves: Some(waves), ..RunOptions::default() };
    match sim::run(bench, &design, &options) {
        Ok(report) => panic!("{what}: not noticed: {report:?}"),
        Err(error) => assert!(error.mismatch().is_some(), "{what}: {error}"),
    }
}
