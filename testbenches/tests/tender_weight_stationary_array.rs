//! The weight-stationary array in all its configurations, and broken ones.

use hdl::blocks::tender::{WeightStationaryArray, WsPe};
use hdl::lang::CatalogBlock;
use sim::{Design, RunOptions};
use testbenches::options;
use testbenches::tender::weight_stationary_array::bench;

#[test]
fn configurations() {
    for block in std::iter::once(WeightStationaryArray::default()).chain(WeightStationaryArray::configurations()) {
        let options = options(60);
        testbenches::run(&block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn broken_arrays_are_noticed() {
    let pe = WsPe { operand_width: 4, accumulator_width: 12 };
    let p = WeightStationaryArray { rows: 3, columns: 2, pe, depth: 4 };
    let whole = Design::from(&hdl::lang::elaborate(&p).unwrap());
    let faults = [
        ("the accumulator is not doubled", "base << shift_q", "base << 2'd0"),
        ("a doubled partial sum leaves unseen", "doubles_q & (sum[11]", "1'b0 & (sum[11]"),
        ("weights move too early", "load_ready_o = !passes", "load_ready_o = 1'b1"),
        ("the same sum twice in a row", "& !again", ""),
        ("a step beside a load", "!(load_valid_i & load_ready_o) & ", ""),
        (
            "a reset leaves vectors on their way",
            "if (!rst_ni) tag_valid_q <= 1'b0;\n      else         tag_valid_q",
            "tag_valid_q",
        ),
        ("the doublings are those of the fold before", "wire shift_up = load_", "wire shift_up = 1'b0 & load_"),
    ];
    for (what, right, wrong) in faults {
        let mut design = whole.clone();
        for file in &mut design.files {
            file.text = file.text.replace(right, wrong);
        }
        assert_ne!(design.files, whole.files, "{what}: no `{right}` in {:#?}", whole.files);
        let waves = tempfile::tempdir().unwrap();
        let options = RunOptions { vectors: 400, waves: Some(waves.path().into()), ..RunOptions::default() };
        let error = sim::run(&*bench(&p).unwrap(), &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}
