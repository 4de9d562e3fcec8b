//! Cell libraries of other kinds: in parts, packed, without flip-flops, in syntax that Yosys does not read.

use std::fs;
use std::path::PathBuf;

use crate::support::library::tiny_library;
use crate::support::{in_folder, senbazuru};
use senbazuru::error::Failure;
use senbazuru::flows::liberty;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, Report, synthesise};
use sim::SourceFile;
use sim::process::Tool;
use tempfile::TempDir;

const UNITS: &str = "time_unit : \"1ns\"; capacitive_load_unit (1, ff);";
const LOGIC: &str = "module top (input wire clk_i, input wire [3:0] a_i, input wire [3:0] b_i, output wire [3:0] q_o);\n\
    assign q_o = a_i + b_i;\nendmodule\n";
const STATE: &str = "module top (input wire clk_i, input wire [3:0] a_i, input wire [3:0] b_i, output reg [3:0] q_o);\n\
    always @(posedge clk_i) q_o <= a_i + b_i;\nendmodule\n";

/// The library of four cells as two files: logic, and the flip-flop.
fn parts() -> TempDir {
    let whole = tiny_library(UNITS, 1.0, 1.0);
    // One cell stands on one line.
    let flip_flop = |line: &&str| line.starts_with("cell (s7)");
    let logic: Vec<_> = whole.lines().filter(|line| !flip_flop(line)).collect();
    let head: Vec<_> = whole.lines().filter(|line| !line.starts_with("cell") || flip_flop(line)).collect();
    let (logic, state) = (logic.join("\n"), head.join("\n").replace("library (tiny)", "library (tiny_seq)"));
    in_folder(&[("whole.lib", &whole), ("logic.lib", &logic), ("state.lib", &state)])
}

fn run(text: &str, liberty: Vec<PathBuf>) -> Result<Report, Failure> {
    let files = vec![SourceFile { name: "top.v".into(), text: text.into() }];
    let sources = Sources { top: "top".into(), files, widest_port: 0, netlist: None };
    let manifest = serde_json::json!({
        "generator": "", "top": "top", "block": "top", "parameters": null, "clock": "clk_i", "reset": null,
        "timing": { "beat": 1, "phases": [] }, "ports": [],
        "modules": [{ "name": "top", "block": "top", "parameters": null, "instances": 1, "children": {}, "black_box": false }],
    });
    let options = Options { liberty, ..Options::default() };
    synthesise(&sources, &serde_json::from_value(manifest).unwrap(), &options)
}

fn usage(result: Result<Report, Failure>) -> String {
    let error = result.err().unwrap();
    assert_eq!(error.exit_code(), 2, "{error}");
    error.to_string()
}

#[test]
fn parts_are_one_library() {
    let folder = parts();
    let file = |name: &str| folder.path().join(name);
    let whole = run(STATE, vec![file("whole.lib")]).unwrap();
    for files in [["logic.lib", "state.lib"], ["state.lib", "logic.lib"]] {
        let report = run(STATE, files.map(file).to_vec()).unwrap();
        assert_eq!(report.mapped, whole.mapped, "{files:?}");
    }
    // Logic alone needs no flip-flop; a register says where they may be.
    assert!(run(LOGIC, vec![file("logic.lib")]).is_ok());
    let text = usage(run(STATE, vec![file("logic.lib")]));
    assert!(
        text.contains("no flip-flop at all") && text.contains("in a file of their own go with one more --liberty"),
        "{text}"
    );
    let text = usage(run(STATE, vec![file("logic.lib"), file("whole.lib")]));
    assert!(text.contains("whole.lib: the cell k9 is in"), "{text}");
    fs::write(file("other.lib"), tiny_library("time_unit : \"1ps\"; capacitive_load_unit (1, ff);", 1.0, 1.0)).unwrap();
    let text = usage(run(STATE, vec![file("logic.lib"), file("other.lib")]));
    assert!(text.contains("are no parts of one library: time_unit is `1ns` and `1ps`"), "{text}");
    // On the command line as well.
    let args = ["synth", "popcount", "--liberty", "logic.lib", "--liberty", "state.lib"];
    let out = senbazuru(&args).current_dir(folder.path()).assert().code(0).get_output().stdout.clone();
    assert!(String::from_utf8_lossy(&out).contains("area and delay in cells of tiny"));
    let args = ["synth", "popcount", "--liberty", "logic.lib", "--liberty", "none"];
    senbazuru(&args).current_dir(folder.path()).assert().code(2);
}

#[test]
fn packed_files() {
    let folder = parts();
    let packed = Tool::new("gzip").args(["-k", "whole.lib", "state.lib"]).dir(folder.path()).run().unwrap();
    assert!(packed.success(), "{}", packed.log());
    let file = |name: &str| folder.path().join(name);
    let whole = run(STATE, vec![file("whole.lib")]).unwrap();
    for files in [vec!["whole.lib.gz"], vec!["logic.lib", "state.lib.gz"]] {
        let report = run(STATE, files.iter().map(|name| file(name)).collect()).unwrap();
        assert_eq!(report.mapped, whole.mapped, "{files:?}");
    }
    let mut bytes = fs::read(file("whole.lib.gz")).unwrap();
    bytes.truncate(200);
    fs::write(file("cut.lib.gz"), bytes).unwrap();
    let text = usage(run(STATE, vec![file("cut.lib.gz")]));
    assert!(text.contains("cut.lib.gz: gzip cannot unpack it"), "{text}");
    assert_eq!(liberty::open(&[file("whole.lib.gz")]).unwrap().text, fs::read_to_string(file("whole.lib")).unwrap());
}

/// Damage is told with its place before a tool runs, and nothing is written.
#[test]
fn damaged_files() {
    let units = "time_unit : \"1ns\"; capacitive_load_unit (1, ff); nom_voltage : 1.0; leakage_power_unit : \"1nW\";";
    let whole = tiny_library(units, 1.0, 1.0);
    // The head is two lines, each cell one.
    for (from, to, told) in [
        ("area : 2.5;", "area : 2.5 3;", "line 4, cell q4: area is `2.5 3`; a number, 0 or more is wanted"),
        (
            "capacitance : 2; }",
            "}",
            "line 3, cell k9: pin I has no capacitance, and the library no default_input_pin_cap",
        ),
        ("nom_voltage : 1.0", "nom_voltage : 0", "line 1: nom_voltage is `0`; a number above 0 is wanted"),
        ("1nW", "1nJ", "line 1: leakage_power_unit is `1nJ`; wanted is a number above 0"),
        (
            "(lin) { index_1 (\"0.01, 1\")",
            "(lin) { index_1 (\"1, 1\")",
            "line 3, cell k9: index_1 of cell_rise has 1 after 1",
        ),
        (
            "cell_fall (lin)",
            "cell_fall (line)",
            "line 3, cell k9: cell_fall names the template `line`; one that the library has",
        ),
        ("pin (B)", "pin (A)", "line 4, cell q4: pin A stands in line 4 too; one is wanted"),
        ("area : 8;", "area : 8; include_file (\"x\");", "line 6, cell s7: include_file is not read"),
        ("area : 8;", "area : 8", "line 6: `{` stands in the value of `area`; is `;` missing"),
    ] {
        assert!(whole.contains(from), "{from}");
        // Line ends of three systems.
        for end in ["\n", "\r\n", "\r"] {
            let folder = in_folder(&[("cells.lib", &whole.replacen(from, to, 1).replace('\n', end))]);
            for args in [["synth", "--netlist", "out.v"], ["energy", "--vectors", "2"]] {
                let run = senbazuru(&args).args(["popcount", "--liberty", "cells.lib"]).current_dir(folder.path());
                let text = String::from_utf8(run.assert().code(2).stdout_eq("").get_output().stderr.clone()).unwrap();
                assert!(text.starts_with("error: ") && text.contains(&format!("cells.lib: {told}")), "{to}: {text}");
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{to}");
            }
        }
    }
    let error = liberty::open(&["/dev/zero"]).unwrap_err().to_string();
    assert_eq!(error, "/dev/zero is no file; a Liberty file is wanted");
}

/// As gf180mcu's files write it.
#[test]
fn an_expression_without_quotes() {
    let folder = parts();
    let path = folder.path().join("bare.lib");
    let text = fs::read_to_string(folder.path().join("whole.lib")).unwrap();
    let text = text.replace("next_state : \"J\"; }", "next_state : \"J\";\n        clear : !C ;\n }");
    fs::write(&path, text).unwrap();
    let text = usage(run(STATE, vec![path]));
    assert!(text.contains("cannot use the library") && text.contains("bare.lib"), "{text}");
    assert!(
        text.ends_with("the line is: clear : !C ;\nit reads an expression in quotes only: clear : \"!C\";"),
        "{text}"
    );
}

/// A profile quotes the expression, names the driver, and leaves cells out.
#[test]
fn profiles() {
    let folder = parts();
    let file = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        fs::write(file(name), text).unwrap();
        file(name)
    };
    let text = fs::read_to_string(file("whole.lib")).unwrap();
    let bare = text.replace("next_state : \"J\"; }", "next_state : \"J\";\n        clear : !C ;\n }");
    let quoted = write("quoted.lib", &bare.replace("!C ;", "\"!C\" ;"));
    write("bare.lib", &bare);
    let replace = "[[replace]]\nfrom = \"clear : !C ;\"\nto = 'clear : \"!C\" ;'\n";
    let profile = write("mine.toml", &format!("files = [\"bare.lib\"]\n{replace}"));
    let expected = run(STATE, vec![quoted.clone()]).unwrap();
    assert_eq!(run(STATE, vec![profile]).unwrap().mapped, expected.mapped);

    let library = liberty::open(&[&quoted]).unwrap();
    let driver = library.driver.unwrap();
    let heavy = write("heavy.toml", &format!("driver = \"{driver}\"\nload = 500\n"));
    let delay = |report: Report| report.mapped.unwrap().delay_ps.unwrap();
    let [light, slow] =
        [vec![quoted.clone()], vec![heavy, quoted.clone()]].map(|list| delay(run(LOGIC, list).unwrap()));
    assert!(slow > light, "{slow} ps with a large load, {light} ps with a small one");

    let without = write("without.toml", &format!("dont_use = [\"{driver}\"]\n"));
    assert_ne!(liberty::open(&[&without, &quoted]).unwrap().driver.as_deref(), Some(driver.as_str()));
    let error = usage(run(LOGIC, vec!["nangate45".into(), quoted.clone()]));
    assert!(error.contains("no cell BUF_X1, which its profile names as the driver"), "{error}");
    let [one, other] = [vec![quoted.clone()], vec![without, quoted]].map(|list| liberty::fingerprint(&list).unwrap());
    assert_ne!(one, other, "results with a profile are others");
}
