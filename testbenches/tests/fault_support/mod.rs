//! Hardware that is broken on purpose: a bench that does not notice is worth nothing.

use hdl::lang::CatalogBlock;
use sim::{Design, RunOptions};

use testbenches::MakeBench;

/// Replaces text in the Verilog of `block`, one fault at a time, (what, right, wrong), and demands that the bench reports a
/// mismatch each time.
///
/// # Panics
/// When a text does not occur, or a fault is not found.
pub fn must_be_found<B: CatalogBlock>(block: &B, make: MakeBench<B>, vectors: u64, faults: &[(&str, &str, &str)]) {
    let whole = Design::from(&hdl::lang::elaborate(block).unwrap_or_else(|e| panic!("{e}")));
    let bench = make(block).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in faults {
        let mut design = whole.clone();
        design.files.iter_mut().for_each(|f| f.text = f.text.replace(right, wrong));
        assert_ne!(design.files, whole.files, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let options = RunOptions { vectors, waves: Some(waves.path().into()), ..RunOptions::default() };
        match sim::run(&*bench, &design, &options) {
            Ok(report) => panic!("{what}: not found in {} comparisons", report.compared),
            Err(error) => assert!(error.mismatch().is_some(), "{what}: {error}"),
        }
    }
}
