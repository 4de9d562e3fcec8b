//! `diff`: refactorings are proved, faults are shown.

use std::fs;
use std::path::Path;

use crate::support::{MESH, in_folder, senbazuru};
use snapbox::cmd::OutputAssert;
use tempfile::TempDir;

/// A mesh of four cells in `old` and `new`.
fn twice() -> TempDir {
    let folder = in_folder(&[]);
    for version in ["old", "new"] {
        let args = [&["gen", "mac_mesh", "-o", version], &MESH[..]].concat();
        senbazuru(&args).current_dir(folder.path()).assert().code(0);
    }
    folder
}

fn diff(folder: &Path, more: &[&str]) -> OutputAssert {
    senbazuru(&[&["diff", "old", "new", "-o", "waves"], more].concat()).current_dir(folder).assert()
}

fn out(assert: &OutputAssert) -> String {
    String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
}

/// Replaces text in the PE of the new version.
fn edit(folder: &Path, from: &str, to: &str) {
    let path = folder.join("new/mac_pe_w4_a8.v");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&path, text.replace(from, to)).unwrap();
}

#[test]
fn the_same_text_and_a_refactoring() {
    let folder = twice();
    assert_eq!(out(&diff(folder.path(), &[]).code(0)), "1 of 1 designs are the same text\n");
    // Other names and another way to write the same, in a module that four instances have.
    edit(folder.path(), "!clear_i ? acc_q : 8'sd0", "clear_i ? 8'sd0 : acc_q");
    edit(folder.path(), "product", "summand");
    let text = out(&diff(folder.path(), &[]).code(0));
    assert!(text.contains("equal: the same values in registers of the same name"), "{text}");
    assert!(text.contains("changed: mac_pe_w4_a8\n"), "{text}");
    // Without manifests each folder is one design.
    for version in ["old", "new"] {
        let manifest = fs::read_dir(folder.path().join(version)).unwrap().map(|e| e.unwrap().path());
        manifest.filter(|p| p.extension().is_some_and(|e| e == "json")).for_each(|p| fs::remove_file(p).unwrap());
    }
    assert!(out(&diff(folder.path(), &[]).code(0)).contains("design  equal:"));
}

/// A fault in a corner, and the run that shows it.
#[test]
fn a_difference_has_a_waveform() {
    let folder = twice();
    edit(folder.path(), "base + product", "base + product + (act_i == 4'sd3 && acc_q == 8'sd9)");
    let text = out(&diff(folder.path(), &[]).code(1));
    assert!(text.contains("DIFFERS in cycle") && text.contains("at acc_o: waves/mac_mesh-diff.vcd"), "{text}");
    assert!(text.ends_with("mac_mesh does not do what it did\n"), "{text}");
    let waves = fs::read_to_string(folder.path().join("waves/mac_mesh-diff.vcd")).unwrap();
    for net in ["left.acc_o", "right.acc_o"] {
        assert!(waves.contains(net), "{net} is not in the waveform");
    }
    // A change that is meant.
    fs::write(folder.path().join("changed"), "# since 0.1\nmac_mesh  adds one to nine\n").unwrap();
    diff(folder.path(), &["--changed", "changed"]).code(0);
    // The list must be true.
    fs::write(folder.path().join("changed"), "mac_mesh  adds one\nmac_pe  too\n").unwrap();
    assert!(out(&diff(folder.path(), &["--changed", "changed"]).code(1)).contains("mac_pe is listed as changed, but"));
    fs::write(folder.path().join("changed"), "mac_mesh\n").unwrap();
    diff(folder.path(), &["--changed", "changed"]).code(2);
}

#[test]
fn state_that_is_kept_otherwise_is_equal_from_reset() {
    let counter = |body: &str| {
        format!(
            "module counter (input wire clk_i, input wire rst_ni, input wire en_i, output wire [1:0] count_o);\n{body}\nendmodule\n"
        )
    };
    let binary = counter(
        "  reg [1:0] count_q;\n  always @(posedge clk_i or negedge rst_ni)\n\
         if (!rst_ni) count_q <= 2'd0; else if (en_i) count_q <= count_q + 2'd1;\n  assign count_o = count_q;",
    );
    let one_hot = counter(
        "  reg [3:0] state_q;\n  always @(posedge clk_i or negedge rst_ni)\n\
         if (!rst_ni) state_q <= 4'd1; else if (en_i) state_q <= {state_q[2:0], state_q[3]};\n\
         assign count_o = {state_q[3] | state_q[2], state_q[3] | state_q[1]};",
    );
    let late = binary.replace("2'd1;\n", "2'd1;\n  wire unused = en_i;\n").replace("count_q + 2'd1", "count_q - 2'd3");
    let wrong = one_hot.replace("state_q[3] | state_q[1]}", "state_q[3] ^ state_q[1] ^ state_q[0] & state_q[2]}");
    let folder = in_folder(&[("old/counter.v", &binary), ("new/counter.v", &one_hot)]);
    let run = |new: &str, code: i32| {
        fs::write(folder.path().join("new/counter.v"), new).unwrap();
        out(&diff(folder.path(), &[]).code(code))
    };
    assert!(run(&one_hot, 0).contains("equal from reset"));
    assert!(run(&late, 0).contains("registers of the same name"));
    // Differs in a state that is never reached: still equal.
    assert!(run(&wrong, 0).contains("equal from reset"));
    let text = run(&one_hot.replace("4'd1", "4'd2"), 1);
    assert!(text.contains("DIFFERS in cycle 0 at count_o"), "{text}");
    let text = run(&binary.replace("[1:0] count_o", "[2:0] count_o"), 1);
    assert!(
        text.contains("OTHER PORTS: old has the output count_o of 2 bits, new has the output count_o of 3 bits"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_compared() {
    let gated = "module t (input wire clk_i, input wire en_i, input wire d_i, output reg q_o);\n\
        wire clock = clk_i & en_i;\n  always @(posedge clock) q_o <= d_i;\nendmodule\n";
    let other = gated.replace("d_i;\nend", "!d_i;\nend");
    let folder = in_folder(&[("old/t.v", gated), ("new/t.v", &other)]);
    let error = String::from_utf8_lossy(&diff(folder.path(), &[]).code(2).get_output().stderr).into_owned();
    assert!(error.contains("one that is gated or inverted"), "{error}");
    let empty = in_folder(&[("old/readme", ""), ("new/t.v", gated)]);
    let error = String::from_utf8_lossy(&diff(empty.path(), &[]).code(2).get_output().stderr).into_owned();
    assert!(error.contains("neither a manifest of senbazuru nor a file .v"), "{error}");
    senbazuru(&["diff", "no-such-folder", "new"]).current_dir(folder.path()).assert().code(2);
}

/// All of the committed Verilog at once: a folder against itself asks no tool.
#[test]
fn a_library_with_designs_that_come_and_go() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../verilog-out");
    let same = library.display().to_string();
    let text = out(&senbazuru(&["diff", &same, &same]).assert().code(0));
    let designs: usize = text.split(' ').next().unwrap().parse().unwrap();
    assert!(designs > 80 && text == format!("{designs} of {designs} designs are the same text\n"), "{text}");
    let one = in_folder(&[]);
    senbazuru(&["gen", "popcount", "crc32", "-o", "new"]).current_dir(one.path()).assert().code(0);
    senbazuru(&["gen", "popcount", "leading_zeros", "-o", "old"]).current_dir(one.path()).assert().code(0);
    let text = out(&diff(one.path(), &[]).code(1));
    for line in ["crc32          new", "leading_zeros  REMOVED", "leading_zeros does not do what it did"] {
        assert!(text.contains(line), "{text}");
    }
}
