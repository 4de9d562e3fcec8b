//! Random expressions: the printed text means the same in our engine, Verilator, Icarus and Yosys as in an evaluator
//! that shares no code with the language. All operations, widths 1 to 130 (and wider in between), both signs, with
//! shared sub-expressions, named wires, nested loops and arrays.
//!
//! A failure names the seed of its design; `SENBAZURU_SEED` draws other designs (`scripts/test --soak`).

pub(super) mod design;
mod expr;
pub(super) mod generate;
mod systematic;
mod tools;

use anyhow::{Result, bail};
use design::{Case, Fuzz, Vector};
use expr::Dag;
use test_tag::tag;
use tools::Simulator;

const CASES: usize = 160;
const VECTORS: usize = 300;

#[test]
fn printed_expressions_mean_what_they_say() {
    fuzz(1..5);
}

#[tag(full)]
#[test]
#[ignore = "minutes"]
fn printed_expressions_mean_what_they_say_whole() {
    fuzz(5..25);
}

fn fuzz(seeds: std::ops::Range<u64>) {
    for seed in seeds.map(seeds::seed) {
        if let Err(error) = check(seed) {
            panic!("seed {seed}: {error:#}");
        }
    }
}

/// One simulator is enough for the meaning of the printed text by the rules of Verilog. The C is another text.
#[test]
fn every_operation_in_every_other() {
    systematically(&[Simulator::Icarus, Simulator::Native]);
}

#[tag(full)]
#[test]
#[ignore = "minutes"]
fn every_operation_in_every_other_in_all_tools() {
    systematically(&[Simulator::Verilator, Simulator::Yosys]);
}

fn systematically(simulators: &[Simulator]) {
    // In an ordinary run a third of them.
    let designs = systematic::designs();
    for fuzz in seeds::some(&designs, designs.len().div_ceil(3)) {
        let vectors = systematic::vectors(fuzz);
        for &simulator in simulators {
            // Yosys is slow: every fourth vector.
            let step = if simulator == Simulator::Yosys { 4 } else { 1 };
            let vectors: Vec<Vector> = vectors.iter().step_by(step).cloned().collect();
            if let Err(error) = compare(fuzz, &vectors, simulator) {
                panic!("{}: {error:#}", fuzz.name);
            }
        }
    }
}

fn check(seed: u64) -> Result<()> {
    let mut rng = sim::stimulus::rng(seed);
    let fuzz = generate::design(format!("fuzz_s{seed}"), CASES, &mut rng);
    let vectors: Vec<Vector> = (0..VECTORS).map(|_| vector(&fuzz, &mut rng)).collect();
    let few = &vectors[..20];
    for (simulator, vectors) in [Simulator::Native, Simulator::Verilator]
        .map(|s| (s, &vectors[..]))
        .into_iter()
        .chain([(Simulator::Icarus, few), (Simulator::Yosys, &few[..4])])
    {
        compare(&fuzz, vectors, simulator)?;
    }
    Ok(())
}

/// Whether a simulator gives the values of the evaluator; the error is about the first case that differs.
fn compare(fuzz: &Fuzz, vectors: &[Vector], simulator: Simulator) -> Result<()> {
    let alone =
        |k: usize| Fuzz { name: format!("{}_{k}", fuzz.name), cases: vec![fuzz.cases[k].clone()], ..fuzz.clone() };
    let got = match tools::outputs(fuzz, vectors, simulator) {
        Ok(got) => got,
        // A tool refuses the module: find one expression that it refuses.
        Err(error) => {
            let few = &vectors[..vectors.len().min(20)];
            match (0..fuzz.cases.len()).find(|&k| tools::outputs(&alone(k), few, simulator).is_err()) {
                Some(k) => return report(fuzz, fuzz.cases[k].clone(), &vectors[0], simulator),
                None => return Err(error),
            }
        }
    };
    let wrong = (0..fuzz.cases.len()).find_map(|case| {
        let differs = |v: &usize| got[*v][case] != Some(fuzz.cases[case].expected(&vectors[*v]));
        (0..vectors.len()).find(differs).map(|vector| (case, vector))
    });
    match wrong {
        Some((case, vector)) => report(fuzz, fuzz.cases[case].clone(), &vectors[vector], simulator),
        None => Ok(()),
    }
}

fn vector(fuzz: &Fuzz, rng: &mut sim::stimulus::StimulusRng) -> Vector {
    Vector {
        inputs: fuzz.inputs.iter().map(|&ty| generate::value(ty, rng)).collect(),
        arrays: fuzz.arrays.iter().map(|&ty| (0..design::ARRAY).map(|_| generate::value(ty, rng)).collect()).collect(),
    }
}

/// Shrinks a failing case (all smaller candidates in one design at a time) and says everything about it.
fn report(fuzz: &Fuzz, mut case: Case, vector: &Vector, simulator: Simulator) -> Result<()> {
    let vectors = std::slice::from_ref(vector);
    for round in 0..30 {
        let mut candidates = smaller(&case);
        candidates.truncate(150);
        let next = Fuzz { name: format!("{}_shrink{round}", fuzz.name), cases: candidates, ..fuzz.clone() };
        let failing = match tools::outputs(&next, vectors, simulator) {
            Ok(got) => (0..next.cases.len()).find(|&k| got[0][k] != Some(next.cases[k].expected(vector))),
            Err(_) => (0..next.cases.len()).find(|&k| {
                let alone = Fuzz { cases: vec![next.cases[k].clone()], ..next.clone() };
                tools::outputs(&alone, vectors, simulator).is_err()
            }),
        };
        let Some(k) = failing else { break };
        case = next.cases[k].clone();
    }
    let one = Fuzz { name: "smallest".into(), cases: vec![case.clone()], ..fuzz.clone() };
    let verilog = hdl::lang::elaborate(&one)?.verilog().pop().map(|f| f.text).unwrap_or_default();
    let body: Vec<&str> = verilog.lines().filter(|l| !l.contains("unused_") && !l.contains("  input ")).collect();
    let others = [Simulator::Native, Simulator::Verilator, Simulator::Icarus, Simulator::Yosys].map(|s| {
        match tools::outputs(&one, vectors, s) {
            Ok(values) => {
                format!("{s:?}: {}", values[0][0].as_ref().map_or("unknown bits".into(), |v| format!("{v:x}")))
            }
            Err(error) => format!("{s:?}: {error:#}"),
        }
    });
    bail!(
        "{simulator:?} refuses it or computes something else\nexpression:
{case}\n{}\ninputs: {}\nexpected: {:x}\n{}",
        body.join("\n"),
        used(&one, vector),
        case.expected(vector),
        others.join("\n")
    );
}

fn smaller(case: &Case) -> Vec<Case> {
    let same_result =
        |dag: &Dag| generate::smaller(dag).into_iter().filter(move |d| d.result() == dag.result()).collect::<Vec<_>>();
    let mut list: Vec<Case> = match case {
        Case::Plain(dag) => generate::smaller(dag).into_iter().map(Case::Plain).collect(),
        Case::Loop { rows, columns, first, second } => {
            let (rows, columns) = (*rows, *columns);
            let with = |first: Dag, second: Dag| Case::Loop { rows, columns, first, second };
            let second_smaller = generate::smaller(second).into_iter();
            let second_smaller = second_smaller.filter(|d| d.nodes.iter().any(|n| n.0 == expr::Op::Local));
            second_smaller
                .map(|d| with(first.clone(), d))
                .chain(same_result(first).into_iter().map(|d| with(d, second.clone())))
                .collect()
        }
    };
    list.sort_by_key(Case::size);
    list
}

/// Names and values of the inputs that the expression reads.
fn used(fuzz: &Fuzz, vector: &Vector) -> String {
    let dags: Vec<&Dag> = match &fuzz.cases[0] {
        Case::Plain(dag) => vec![dag],
        Case::Loop { first, second, .. } => vec![first, second],
    };
    let mut list = std::collections::BTreeSet::new();
    for (op, _) in dags.iter().flat_map(|d| &d.nodes) {
        match op {
            expr::Op::Input(k) => {
                list.insert(format!("x{k}_i ({}) = {}", fuzz.inputs[*k], vector.inputs[*k]));
            }
            expr::Op::Element(k, _) => {
                list.insert(format!("v{k}_i ({}) = {:?}", fuzz.arrays[*k], vector.arrays[*k]));
            }
            _ => {}
        }
    }
    list.into_iter().collect::<Vec<_>>().join(", ")
}
