//! The MAC mesh against plain matrix products.

use hdl::blocks::common::MacMesh;
use sim::RunOptions;
use sim::fault;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::mac_mesh::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(200)).unwrap() {
        assert!(report.compared >= 200 && report.cycles > 200, "{report:?}");
    }
}

/// Faults that the bench must notice: each makes the PEs wrong in one way.
#[test]
fn broken_meshes_are_noticed() {
    let p = MacMesh { rows: 3, columns: 4, operand_width: 4, accumulator_width: 9 };
    let faults = [
        ("operands are exchanged on the way", Fault::net("act_q", "weight_q").module("mac_pe")),
        ("PEs start again too often", Fault::net("clear_q", "right | (act_q == 4'd5)").module("mac_pe")),
        ("the lowest bit of a weight is lost", Fault::net("weight_q", "{right[3:1], 1'b0}").module("mac_pe")),
    ];
    must_be_noticed(&p, bench, 50, &faults);

    // One of them once more, for the report with its waveform.
    let design = sim::Design::from(&hdl::lang::elaborate(&p).unwrap());
    let waves = tempfile::tempdir().unwrap();
    let options = RunOptions { vectors: 50, waves: Some(waves.path().into()), ..RunOptions::default() };
    let broken = fault::design(&design, &faults[1].1).unwrap();
    let error = sim::run(&*bench(&p).unwrap(), &broken, &options).unwrap_err();
    let mismatch = error.mismatch().unwrap_or_else(|| panic!("{error}"));
    assert!(mismatch.waveform.is_some() && mismatch.waveform_note.is_none(), "{mismatch}");
}
