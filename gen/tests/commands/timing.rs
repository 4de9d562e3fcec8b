//! Netlists that are proved, and their static timing.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::library::tiny_library;
use crate::support::{MESH, in_folder, senbazuru};
use hdl::emit::Manifest;
use senbazuru::Catalogue;
use senbazuru::flows::equal::How;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, prove_netlist, synthesise};
use senbazuru::flows::{liberty, timing};
use serde_json::{Value, json};

fn design(block: &str, set: &Value) -> (Sources, Manifest) {
    let entry = Catalogue::standard().find(block).cloned().unwrap();
    let mut params = entry.defaults();
    params.extend(set.as_object().unwrap().clone());
    let design = entry.elaborate(&params).unwrap();
    (Sources::from(&design), design.manifest())
}

/// One flip-flop, an inverter, a flip-flop: by hand from the tables of the library.
#[test]
fn a_path_by_hand() {
    let library = liberty::open(&["osu018"]).unwrap();
    let netlist = "module t (clk, a, q);\n  input clk, a;\n  output q;\n  wire x, y;\n  DFFPOSX1 u1 (.D(a), .CLK(clk), .Q(x));\n\
        INVX1 u2 (.A(x), .Y(y));\n  DFFPOSX1 u3 (.D(y), .CLK(clk), .Q(q));\nendmodule\n";
    let ask = |netlist: &str, period: f64| {
        timing::timing(&timing::Question { netlist, top: "t", clock: Some("clk"), reset: None, period }, &library)
    };
    let [ten, one] = [10.0, 1.0].map(|period| ask(netlist, period).unwrap());
    assert_eq!((ten.period_ns, ten.least_period_ns), (10.0, 10.0 - ten.slack_ns));
    // The period moves the slack, and nothing else.
    assert!((ten.slack_ns - one.slack_ns - 9.0).abs() < 1e-3, "{ten:?} {one:?}");
    // Clock to output, an inverter, set-up: some hundred picoseconds in this technology. A longer path takes longer.
    assert!((0.2..1.0).contains(&ten.least_period_ns), "{ten:?}");
    let longer = netlist.replace("INVX1 u2 (.A(x), .Y(y));", "INVX1 u2 (.A(x), .Y(z)); INVX1 u4 (.A(z), .Y(y));");
    let longer = ask(&longer.replace("wire x,", "wire z, x,"), 10.0).unwrap();
    assert!(longer.least_period_ns > ten.least_period_ns + 0.005, "{longer:?} {ten:?}");
    assert!(ask("module t (clk);\n  input clk;\nendmodule\n", 1.0).is_err());
}

/// The delays of ABC and of OpenSTA of logic without registers.
#[test]
fn the_same_delay_as_abc() {
    let (sources, manifest) = design("float_add", &json!({}));
    let options = Options { liberty: vec!["osu018".into()], period: Some(20.0), ..Options::default() };
    let report = synthesise(&sources, &manifest, &options).unwrap();
    assert_eq!(report.proved, Some(How::Registers));
    let (abc, sta) = (report.mapped.unwrap().delay_ps.unwrap() / 1000.0, report.timing.unwrap().least_period_ns);
    assert!((sta / abc - 1.0).abs() < 0.15, "ABC {abc} ns, OpenSTA {sta} ns");
}

#[test]
fn a_netlist_is_written_and_proved() {
    let folder = in_folder(&[]);
    let run = |more: &[&str]| {
        let args = [&["synth", "mac_mesh"], &MESH[..], more].concat();
        senbazuru(&args).current_dir(folder.path()).assert()
    };
    let out = run(&["--netlist", "mesh.v", "--period", "4"]).code(0).get_output().stdout.clone();
    let text = String::from_utf8_lossy(&out);
    assert!(text.contains("the netlist does what the source does: the same values in its registers"), "{text}");
    assert!(text.contains("clock period") && text.contains("ns at 4 ns (OpenSTA, without wires)"), "{text}");
    let netlist = fs::read_to_string(folder.path().join("mesh.v")).unwrap();
    assert!(netlist.contains("DFFPOSX1") || netlist.contains("DFFSR"), "{netlist}");

    // A gate that is another one is found.
    let (sources, manifest) =
        design("mac_mesh", &json!({ "rows": 2, "columns": 2, "operand_width": 4, "accumulator_width": 8 }));
    let library = liberty::open(&["osu018"]).unwrap();
    let prove =
        |netlist: &str| prove_netlist(&sources, manifest.reset.as_deref(), netlist, &library, Duration::from_secs(60));
    assert_eq!(prove(&netlist).unwrap(), How::Registers);
    let broken = netlist.replacen("NAND2X1", "NOR2X1", 1);
    let error = prove(&broken).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    assert!(
        error.to_string().starts_with("the installed Yosys maps mac_mesh_r2_c2_w4_a8 wrongly to the cells of"),
        "{error}"
    );

    for (more, what) in [
        (&["--netlist", "x.v", "--hierarchical"][..], "leave out --hierarchical"),
        (&["--period", "4", "--liberty", "none"], "--liberty none"),
        (&["--period", "0"], "allowed: "),
    ] {
        let error = run(more).code(2).get_output().stderr.clone();
        assert!(String::from_utf8_lossy(&error).contains(what), "{}", String::from_utf8_lossy(&error));
    }
    assert!(!Path::new(&folder.path().join("x.v")).exists());
}

/// A flip-flop that keeps the complement: Yosys 0.23 swaps its set and reset, and nothing is shown of such a netlist.
#[test]
fn a_wrong_mapping_is_called_that() {
    let units = "time_unit : \"1ns\"; capacitive_load_unit (1, ff);";
    let pin = |name: &str| format!("pin ({name}) {{ direction : input; capacitance : 2; }}");
    let state = format!(
        "ff (IQN, IQ) {{ clocked_on : \"C\"; next_state : \"!J\"; clear : \"!R\"; preset : \"!S\"; \
         clear_preset_var1 : L; clear_preset_var2 : L; }} {}{}",
        pin("R"),
        pin("S")
    );
    let plain = "ff (Q, QN) { clocked_on : \"C\"; next_state : \"J\"; }";
    let library = tiny_library(units, 1.0, 1.0);
    assert!(library.contains(plain) && library.contains("function : \"Q\""));
    let library = library.replace(plain, &state).replace("function : \"Q\"", "function : \"IQN\"");
    let folder = in_folder(&[("inverted.lib", &library)]);
    let args = [&["synth", "mac_mesh"], &MESH[..], &["--liberty", "inverted.lib", "--netlist", "n.v"]].concat();
    let assert = senbazuru(&args).current_dir(folder.path()).assert().code(2);
    let error = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(error.contains("the installed Yosys maps mac_mesh_r2_c2_w4_a8 wrongly to the cells of"), "{error}");
    assert!(assert.get_output().stdout.is_empty() && !folder.path().join("n.v").exists());
}
