//! The outputs of a design by our engine, Verilator, Icarus and Yosys, for a list of input vectors.

use anyhow::{Context, Result, ensure};
use hdl::lang::elaborate;
use num_bigint::{BigInt, BigUint};
use sim::process::Tool;
use sim::{Bits, BuildOptions, Engine, Model};

use super::design::{ARRAY, Fuzz, Vector};
use super::expr::bits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulator {
    Native,
    Verilator,
    Icarus,
    Yosys,
}

/// Outputs of `fuzz`: `[vector][case]`; `None` where a tool says that bits are unknown.
pub fn outputs(fuzz: &Fuzz, vectors: &[Vector], simulator: Simulator) -> Result<Vec<Vec<Option<BigUint>>>> {
    let design = elaborate(fuzz)?;
    let design = sim::Design::from(&design);
    match simulator {
        Simulator::Native => modelled(fuzz, &design, vectors, Engine::Native),
        Simulator::Verilator => modelled(fuzz, &design, vectors, Engine::Verilator),
        Simulator::Icarus => icarus(fuzz, &design, vectors),
        Simulator::Yosys => yosys(fuzz, &design, vectors),
    }
}

/// (port, width, value) of all inputs.
fn pokes(fuzz: &Fuzz, vector: &Vector) -> Vec<(String, u32, BigUint)> {
    let unsigned = |value: &BigInt, width| bits(value, width).to_biguint().expect("bits are not negative");
    let scalars = fuzz.inputs.iter().zip(&vector.inputs).enumerate();
    let scalars = scalars.map(|(k, (ty, value))| (format!("x{k}_i"), ty.width, unsigned(value, ty.width)));
    let arrays = fuzz.arrays.iter().zip(&vector.arrays).enumerate();
    let packed = |width: u32, values: &[BigInt]| {
        values.iter().rev().fold(BigUint::from(0_u8), |all, v| (all << width) | unsigned(v, width))
    };
    let arrays = arrays.map(|(k, (ty, values))| (format!("v{k}_i"), ty.width * ARRAY, packed(ty.width, values)));
    scalars.chain(arrays).collect()
}

fn output_width(fuzz: &Fuzz, case: usize) -> u32 {
    fuzz.cases[case].result().width * fuzz.cases[case].elements().unwrap_or(1)
}

fn modelled(
    fuzz: &Fuzz,
    design: &sim::Design,
    vectors: &[Vector],
    engine: Engine,
) -> Result<Vec<Vec<Option<BigUint>>>> {
    let model = Model::build(design, &BuildOptions { engine: Some(engine), ..BuildOptions::default() })?;
    let mut sim = model.instance()?;
    let mut outputs = Vec::new();
    for k in 0..fuzz.cases.len() {
        outputs.push(sim.output(&format!("y{k}_o"))?);
    }
    let mut all = Vec::new();
    for vector in vectors {
        for (name, width, value) in pokes(fuzz, vector) {
            let input = sim.input(&name)?;
            sim.poke(input, &Bits::from_biguint(width, &value)?);
        }
        sim.settle()?;
        all.push(outputs.iter().map(|&o| Some(sim.peek(o).to_biguint())).collect());
    }
    Ok(all)
}

fn icarus(fuzz: &Fuzz, design: &sim::Design, vectors: &[Vector]) -> Result<Vec<Vec<Option<BigUint>>>> {
    use std::fmt::Write as _;
    let mut text = String::from("module bench;\n");
    let mut ports = Vec::new();
    for (name, width, _) in pokes(fuzz, &vectors[0]) {
        writeln!(text, "  reg [{}:0] {name};", width - 1)?;
        ports.push(format!(".{name}({name})"));
    }
    for k in 0..fuzz.cases.len() {
        writeln!(text, "  wire [{}:0] y{k}_o;", output_width(fuzz, k) - 1)?;
        ports.push(format!(".y{k}_o(y{k}_o)"));
    }
    writeln!(text, "  {} u_dut ({});\n  initial begin", fuzz.name, ports.join(", "))?;
    for vector in vectors {
        for (name, width, value) in pokes(fuzz, vector) {
            writeln!(text, "    {name} = {width}'h{value:x};")?;
        }
        writeln!(text, "    #1;")?;
        for k in 0..fuzz.cases.len() {
            writeln!(text, "    $display(\"%h\", y{k}_o);")?;
        }
    }
    writeln!(text, "  end\nendmodule")?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("bench.v"), text)?;
    let mut names = vec!["bench.v".to_owned()];
    for file in &design.files {
        std::fs::write(folder.path().join(&file.name), &file.text)?;
        names.push(file.name.clone());
    }
    let compiled = Tool::new("iverilog").args(["-g2005", "-o", "bench"]).args(names).dir(folder.path()).run()?;
    ensure!(compiled.success(), "iverilog: {}", compiled.log());
    let run = Tool::new("vvp").arg("bench").dir(folder.path()).run()?;
    ensure!(run.success(), "vvp: {}", run.log());
    let values: Vec<Option<BigUint>> =
        run.stdout.lines().map(|l| BigUint::parse_bytes(l.trim().as_bytes(), 16)).collect();
    ensure!(values.len() == vectors.len() * fuzz.cases.len(), "vvp printed {} values", values.len());
    Ok(values.chunks(fuzz.cases.len()).map(<[_]>::to_vec).collect())
}

/// `eval` on the elaborated netlist.
fn yosys(fuzz: &Fuzz, design: &sim::Design, vectors: &[Vector]) -> Result<Vec<Vec<Option<BigUint>>>> {
    use std::fmt::Write as _;
    let mut script = String::new();
    for file in &design.files {
        writeln!(script, "read_verilog {}", file.name)?;
    }
    writeln!(script, "hierarchy -check -top {}\nproc\ncheck -assert", fuzz.name)?;
    for vector in vectors {
        write!(script, "eval")?;
        for (name, width, value) in pokes(fuzz, vector) {
            write!(script, " -set {name} {width}'h{value:x}")?;
        }
        for k in 0..fuzz.cases.len() {
            write!(script, " -show y{k}_o")?;
        }
        writeln!(script)?;
    }
    let files: Vec<_> = design.files.clone();
    let log = sim::lint::yosys(&script, &files)?;
    ensure!(
        !log.contains("Warning"),
        "Yosys warns:\n{}",
        log.lines().filter(|l| l.contains("Warn")).collect::<String>()
    );
    let mut all = vec![vec![None; fuzz.cases.len()]; vectors.len()];
    let mut at = vec![0; fuzz.cases.len()];
    for line in log.lines() {
        let Some((name, value)) = line.strip_prefix("Eval result: \\y").and_then(|l| l.split_once(" = ")) else {
            continue;
        };
        let case: usize = name.trim_end_matches("_o").parse().context("name of an output")?;
        let digits = value.trim_end_matches('.').rsplit('\'').next().unwrap_or("");
        // Sized binary, or a plain number when it is 32 bits wide.
        let radix = if value.contains('\'') { 2 } else { 10 };
        let number = match value.trim_end_matches('.').parse::<i32>() {
            Ok(number) => Some(BigUint::from(number as u32)),
            Err(_) => BigUint::parse_bytes(digits.as_bytes(), radix),
        };
        all[at[case]][case] = number;
        at[case] += 1;
    }
    ensure!(at.iter().all(|&n| n == vectors.len()), "Yosys evaluated {at:?} vectors of {}", vectors.len());
    Ok(all)
}
