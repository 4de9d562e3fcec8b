//! What the tests of rust-hdl share: one stimulus run in Verilator and in Icarus.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod blocks;
pub mod mesh;

use sim::process::Tool;
use sim::{BuildOptions, Design, Model, SourceFile};

/// One value per named input, then per named output, for each clock cycle. Outputs are sampled with the cycle's inputs
/// applied, before its rising edge.
#[derive(Clone, Debug)]
pub struct Vectors {
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    /// Raw bits; signed values are cut to the port's width.
    pub cycles: Vec<Vec<u64>>,
}

impl Vectors {
    pub fn new(inputs: &[&str], outputs: &[&str], cycles: Vec<Vec<u64>>) -> Self {
        let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Self { inputs: own(inputs), outputs: own(outputs), cycles }
    }
}

/// A design of rust-hdl: one text, top module `top`.
pub fn rust_hdl_design(text: String, clock: Option<&str>, reset: Option<&str>) -> Design {
    Design {
        top: "top".into(),
        files: vec![SourceFile { name: "top.v".into(), text }],
        ports: vec![],
        clock: clock.map(Into::into),
        reset: reset.map(Into::into),
        defines: vec![],
        native: None,
    }
}

/// Runs both simulators, insists that they agree, and returns the outputs. `None` is an unknown value (Icarus knows X).
#[track_caller]
pub fn simulate(design: &Design, vectors: &Vectors) -> Vec<Vec<Option<u64>>> {
    let two_state = verilator(design, vectors);
    let four_state = icarus(design, vectors);
    assert_eq!(two_state.len(), four_state.len());
    for (cycle, (two, four)) in two_state.iter().zip(&four_state).enumerate() {
        for (output, (two, four)) in two.iter().zip(four).enumerate() {
            let name = &vectors.outputs[output];
            assert!(four.is_none_or(|four| four == *two), "cycle {cycle}, {name}: Verilator {two}, Icarus {four:?}");
        }
    }
    four_state
}

fn verilator(design: &Design, vectors: &Vectors) -> Vec<Vec<u64>> {
    let model = Model::build(design, &BuildOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut sim = model.instance().unwrap();
    let inputs: Vec<_> = vectors.inputs.iter().map(|n| sim.input(n).unwrap()).collect();
    let outputs: Vec<_> = vectors.outputs.iter().map(|n| sim.output(n).unwrap()).collect();
    if design.reset.is_some() {
        sim.reset(2).unwrap();
    }
    let mut results = Vec::new();
    for cycle in &vectors.cycles {
        for (&input, &value) in inputs.iter().zip(cycle) {
            sim.poke_u64(input, value);
        }
        sim.settle().unwrap();
        results.push(outputs.iter().map(|&o| sim.peek_u64(o)).collect());
        if design.clock.is_some() {
            sim.tick().unwrap();
        }
    }
    results
}

/// Icarus with a generated testbench. Port widths come from the Verilator model of the same text.
fn icarus(design: &Design, vectors: &Vectors) -> Vec<Vec<Option<u64>>> {
    let model = Model::build(design, &BuildOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let width = |name: &str| model.ports().iter().find(|p| p.name == name).unwrap().width;
    let mut text = String::from("`timescale 1ns/1ns\nmodule bench;\n");
    let control: Vec<&String> = design.clock.iter().chain(&design.reset).collect();
    for name in control.iter().copied().chain(&vectors.inputs) {
        text += &format!("  reg [{}:0] {name} = 0;\n", width(name) - 1);
    }
    for name in &vectors.outputs {
        text += &format!("  wire [{}:0] {name};\n", width(name) - 1);
    }
    let all = control.iter().copied().chain(&vectors.inputs).chain(&vectors.outputs);
    let ports: Vec<_> = all.map(|n| format!(".{n}({n})")).collect();
    text += &format!("  {} dut ({});\n  initial begin\n    #1;\n", design.top, ports.join(", "));
    let edge = design.clock.as_ref().map_or(String::new(), |c| format!("    {c} = 1; #1; {c} = 0; #1;\n"));
    if let Some(reset) = &design.reset {
        text += &format!("{edge}{edge}    {reset} = 1; #1;\n");
    }
    let format = vec!["%b"; vectors.outputs.len()].join(" ");
    for cycle in &vectors.cycles {
        for (name, value) in vectors.inputs.iter().zip(cycle) {
            text += &format!("    {name} = {}'d{value};\n", width(name));
        }
        text += &format!("    #1; $display(\"{format}\", {});\n{edge}", vectors.outputs.join(", "));
    }
    text += "    $finish;\n  end\nendmodule\n";

    let folder = tempfile::tempdir().unwrap();
    for file in &design.files {
        std::fs::write(folder.path().join(&file.name), &file.text).unwrap();
    }
    std::fs::write(folder.path().join("bench.v"), text).unwrap();
    let compile = Tool::new("iverilog").args(["-g2005", "-s", "bench", "-o", "bench.vvp"]);
    let compile = compile.args(design.files.iter().map(|f| &f.name)).arg("bench.v").dir(folder.path());
    let built = compile.run().unwrap();
    assert!(built.success(), "{}", built.log());
    let run = Tool::new("vvp").args(["-n", "bench.vvp"]).dir(folder.path()).run().unwrap();
    assert!(run.success(), "{}", run.log());
    let value = |bits: &str| u64::from_str_radix(bits, 2).ok();
    run.stdout.lines().map(|line| line.split_whitespace().map(value).collect()).collect()
}
