//! Energy, held against OpenSTA on small netlists, where both can be followed by hand, and measured on a block.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::library::tiny_library;
use crate::support::{MESH, in_folder, senbazuru};
use senbazuru::error::Failure;
use senbazuru::flows::energy::{Cells, Energy, Net, Netlist, Report, Toggles, measure, sum};
use senbazuru::flows::liberty;
use sim::process::Tool;
use sim::{Bench, Design, Run, RunOptions, Sim, SourceFile};

/// A netlist in cells of osu018, and the nets by their names.
fn netlist(body: &str, cells: &Cells, library: &Path) -> (Netlist, BTreeMap<String, Net>, String) {
    let text = format!("module top (input clk, input a, input b, output y, output q);\n{body}endmodule\n");
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("netlist.json");
    let files = [SourceFile { name: "top.v".into(), text: text.clone() }];
    let script = format!(
        "read_liberty -lib {}\nread_verilog top.v\nhierarchy -top top\nwrite_json {}\n",
        library.display(),
        json.display()
    );
    sim::lint::yosys(&script, &files).unwrap();
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let names = json["modules"]["top"]["netnames"].as_object().unwrap();
    let nets = names.iter().filter_map(|(name, net)| Some((name.clone(), net["bits"][0].as_u64()?))).collect();
    (Netlist::read(&json, "top", cells).unwrap(), nets, text)
}

const SLEW: f64 = 0.18e-9;

fn osu018() -> (Cells, PathBuf) {
    let path = liberty::open(&["osu018"]).unwrap().files.remove(0);
    let text = fs::read_to_string(&path).unwrap();
    (Cells::read(&liberty::parse(&text).unwrap()).unwrap(), path)
}

fn ours(body: &str, toggles: &[(&str, u64)]) -> Energy {
    let (cells, library) = osu018();
    let (netlist, nets, _) = netlist(body, &cells, &library);
    let counts: Toggles = toggles.iter().map(|(name, n)| (nets[*name], *n)).collect();
    sum(&netlist, &cells, &counts, SLEW)
}

/// Internal and switching energy that OpenSTA gives when all inputs make one transition a second and the clock two: its
/// watts are then joules.
fn opensta(body: &str) -> (f64, f64) {
    let (cells, library) = osu018();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("top.v"), netlist(body, &cells, &library).2).unwrap();
    let script = format!(
        "read_liberty {1}\nread_verilog top.v\nlink_design top\ncreate_clock -name clk -period 1000000000 [get_ports clk]\n\
         set_input_transition {0} [all_inputs]\nset_clock_transition {0} [get_clocks clk]\nset_power_activity -input -activity 1.0 -duty 0.5\nreport_power -digits 8\nexit\n",
        SLEW * 1e9,
        library.display()
    );
    fs::write(folder.path().join("power.tcl"), script).unwrap();
    let output = Tool::new("sta").args(["-no_splash", "-exit", "power.tcl"]).dir(folder.path()).run().unwrap();
    let total = output.stdout.lines().find(|l| l.starts_with("Total ")).unwrap_or_else(|| panic!("{}", output.log()));
    let numbers: Vec<f64> = total.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    (numbers[0], numbers[1])
}

fn close(ours: f64, theirs: f64, tolerance: f64) {
    assert!((ours / theirs - 1.0).abs() < tolerance, "ours {ours:e}, expected {theirs:e}");
}

/// One inverter that drives another, followed by hand through the tables of the library (pJ, at a transition of 0.18 ns;
/// the load of 9.32456 fF lies between the rows of 5 fF and 12.5 fF).
#[test]
fn an_inverter_by_hand() {
    let energy = ours("INVX1 u1 (.A(a), .Y(n1)); INVX1 u2 (.A(n1), .Y(y));\n", &[("a", 10), ("n1", 10), ("y", 0)]);
    let row = |low: f64, high: f64| low + (high - low) * (9.324_56 - 5.0) / 7.5;
    let (fall, rise) = (row(0.004_772, 0.005_677), row(0.029044, 0.028621));
    // Ten transitions are five of each kind.
    let inside = 5.0 * (fall + rise) * 1e-12;
    let charge = 10.0 * 9.324_56e-15 * 1.8 * 1.8 / 2.0;
    close(energy.internal, inside, 1e-6);
    close(energy.logic, inside + charge, 1e-6);
    close(energy.inputs, charge, 1e-6);
}

/// OpenSTA 2.0.17 takes the energy of both edges for every transition, which is twice ours: a transition is one edge. At
/// the outputs of flip-flops, whose function it does not know, it takes half of that. The rest of the difference is that
/// it keeps rising and falling transition times apart.
#[test]
fn the_same_sums_as_opensta() {
    let chain =
        "INVX1 u1 (.A(a), .Y(n1)); BUFX2 u2 (.A(n1), .Y(n2)); INVX4 u3 (.A(n2), .Y(y)); INVX1 u4 (.A(n2), .Y(q));\n";
    let energy = ours(chain, &["a", "n1", "n2", "y", "q"].map(|net| (net, 1)));
    let (internal, switching) = opensta(chain);
    close(energy.internal, internal / 2.0, 0.02);
    // The nets of input ports are in no cell's account there.
    close(energy.total() - energy.internal - energy.inputs, switching, 1e-6);

    let flip_flop = "DFFPOSX1 u1 (.D(a), .CLK(clk), .Q(n1)); INVX2 u2 (.A(n1), .Y(y));\n";
    let toggles = |q| [("clk", 2), ("a", 1), ("n1", q), ("y", 1)];
    let energy = ours(flip_flop, &toggles(1));
    let output = energy.internal - ours(flip_flop, &toggles(0)).internal;
    let (internal, switching) = opensta(flip_flop);
    close(2.0 * energy.internal - output, internal, 0.02);
    let clock_net = 2.0 * 27.9235e-15 * 1.8 * 1.8 / 2.0;
    close(energy.total() - energy.internal - energy.inputs - clock_net, switching, 1e-6);
}

/// The netlist does the same as the golden model, and energy goes to the right parts.
#[test]
fn energy_of_a_block() {
    let run = |more: &[&str]| {
        let args = [&["energy", "mac_mesh", "--json", "--vectors", "20"], &MESH[..], more].concat();
        let output = senbazuru(&args).assert().code(0).get_output().stdout.clone();
        serde_json::from_slice::<serde_json::Value>(&output).unwrap()["result"].clone()
    };
    let result = run(&[]);
    let part = |name: &str| result["energy"][name].as_f64().unwrap();
    assert_eq!(result["library"], "osu018_stdcells");
    assert!(result["cycles"].as_u64().unwrap() > 20);
    let parts = ["clock", "flip_flops", "logic", "inputs"].map(part);
    assert!(parts.iter().all(|p| *p > 0.0), "{result}");
    // The clock makes two transitions a cycle on the clock pins of 50 flip-flops, whatever the data do.
    let flip_flops = (4 * 17 - 2 * 5 - 2 * 4) as f64;
    let pins = result["cycles"].as_f64().unwrap() * 2.0 * flip_flops * 27.9e-15 * 1.8 * 1.8 / 2.0;
    assert!(parts[0] > pins, "{result}");
    assert_eq!(run(&[]), result);
}

/// Counts from 0, or from elsewhere.
struct Counter {
    from: u64,
}

impl Bench for Counter {
    fn block(&self) -> &str {
        "counter"
    }

    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({ "width": 4 })
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let count = sim.output("count_o")?;
        sim.reset(2)?;
        for number in 0..run.vectors() {
            run.expect_u64(sim, count, (self.from + number) % 16)?;
            sim.tick()?;
        }
        Ok(())
    }
}

fn counter() -> Design {
    let text = "module counter(input wire clk_i, input wire rst_ni, output reg [3:0] count_o);\n\
        always @(posedge clk_i or negedge rst_ni) if (!rst_ni) count_o <= 4'd0; else count_o <= count_o + 4'd1;\n\
        endmodule\n";
    let mut design = Design::from_verilog("counter", text);
    // Large designs bring a file that is for Verilator alone.
    let directive = "`verilator_config\nno_inline -module \"other\"\n";
    design.files.insert(0, SourceFile { name: "keep_modules.vlt".into(), text: directive.into() });
    design
}

fn measured(from: u64, library: &Path) -> Result<Report, Failure> {
    let options = RunOptions { seed: 3, vectors: 5, ..RunOptions::default() };
    measure(&counter(), &Counter { from }, &[library.to_owned()], &options)
}

#[test]
fn files_for_the_simulator_alone_are_not_mapped() {
    assert!(measured(0, Path::new("osu018")).unwrap().energy.total() > 0.0);
}

/// A flip-flop that keeps the complement: Yosys 0.23 swaps its set and reset.
#[test]
fn a_wrong_netlist_is_not_the_fault_of_the_design() {
    let folder = in_folder(&[]);
    let path = folder.path().join("odd 'n' inverted.lib");
    let units = "time_unit : \"1ns\"; capacitive_load_unit (1, ff); nom_voltage : 1.0;";
    let pin = |name: &str| format!("pin ({name}) {{ direction : input; capacitance : 2; }}");
    let state = format!(
        "ff (IQN, IQ) {{ clocked_on : \"C\"; next_state : \"!J\"; clear : \"!R\"; preset : \"!S\"; \
         clear_preset_var1 : L; clear_preset_var2 : L; }} {}{}",
        pin("R"),
        pin("S")
    );
    let library = tiny_library(units, 1.0, 1.0);
    let plain = "ff (Q, QN) { clocked_on : \"C\"; next_state : \"J\"; }";
    assert!(library.contains(plain) && library.contains("function : \"Q\""));
    let library = library.replace(plain, &state).replace("function : \"Q\"", "function : \"IQN\"");
    fs::write(&path, library).unwrap();

    let error = measured(0, &path).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    let text = error.to_string();
    assert!(text.starts_with("the installed Yosys maps counter wrongly to the cells of "), "{text}");
    let quoted = path.display().to_string().replace('\'', "'\\''");
    let again = format!("senbazuru energy counter --set width=4 --vectors 5 --seed 3 --liberty '{quoted}'\n");
    assert!(text.contains(&again) && text.contains("waveform:   none"), "{text}");

    // A design that is wrong by itself is.
    for library in [&path, Path::new("osu018")] {
        let error = measured(1, library).unwrap_err();
        assert_eq!(error.exit_code(), 1, "{error}");
        let text = error.to_string();
        assert!(text.contains("senbazuru sim counter --set width=4 --seed 3 --vectors 5"), "{text}");
    }
}

/// Wires have no cycles to share energy out to.
#[test]
fn a_block_without_a_clock_has_joules_a_vector() {
    let run = senbazuru(&["energy", "popcount", "--vectors", "4"]).assert().code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(text.contains("pJ a vector  share") && !text.contains("inf") && !text.contains("NaN"), "{text}");
    let zero = text.lines().any(|line| line.starts_with("clock") && line.split_whitespace().nth(1) == Some("0"));
    assert!(zero, "{text}");
}
