//! The MAC mesh against plain matrix products.

use hdl::blocks::common::MacMesh;
use sim::{RunOptions, SourceFile};
use testbenches::common::mac_mesh::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(200)).unwrap() {
        assert!(report.compared >= 200 && report.cycles > 200, "{report:?}");
    }
}

/// What the bench must notice: each edit makes one PE wrong in one way.
#[test]
fn broken_meshes_are_noticed() {
    let p = MacMesh { rows: 3, columns: 4, operand_width: 4, accumulator_width: 9 };
    let design = sim::Design::from(&hdl::lang::elaborate(&p).unwrap());
    let waves = std::env::temp_dir().join("senbazuru_broken_meshes");
    let options = RunOptions { vectors: 50, waves: Some(waves.clone()), ..RunOptions::default() };
    for (from, to) in [
        ("act_q <= act_i;", "act_q <= weight_i;"),
        ("clear_q <= clear_i;", "clear_q <= clear_i | (act_i == 4'd5);"),
        ("weight_q <= weight_i;", "weight_q <= {weight_i[3:1], 1'b0};"),
    ] {
        let mut broken = design.clone();
        let edit = |f: &SourceFile| SourceFile { name: f.name.clone(), text: f.text.replace(from, to) };
        broken.files = design.files.iter().map(edit).collect();
        assert_ne!(broken.files, design.files, "nothing to replace: {from}");
        let error = sim::run(&*bench(&p).unwrap(), &broken, &options).unwrap_err();
        let mismatch = error.mismatch().unwrap_or_else(|| panic!("{error}"));
        assert!(mismatch.waveform.is_some() && mismatch.waveform_note.is_none(), "{mismatch}");
    }
    let _ = std::fs::remove_dir_all(waves);
}
