//! Runs a bench on each mutant.

use std::time::Instant;

use super::equivalence::{self, Limits};
use super::list::{Mutation, Mutations, Source};
use super::report::{Outcome, Report, Tested};
use crate::broken::Judge;
use crate::lint::{folder_of, incomplete, is_verilog, output, yosys_in};
use crate::{
    Bench, BuildOptions, Cache, Design, Dir, Effort, Error, Kill, Model, Port, Result, RunOptions, SourceFile,
};

/// The input of a model with mutants that chooses a mutant by its number, from 1. At 0 the design is unchanged.
pub const SELECT: &str = "senbazuru_select_i";

/// Runs of a mutant that is not noticed, each with another seed. A register without reset starts with the right value
/// in half of the runs.
const STARTS: u64 = 8;

/// Runs before a proof is tried. Most mutants that are noticed are noticed soon, and a proof takes longer than a run.
const BEFORE_PROOFS: u64 = 3;

/// Later runs, of mutants that are not proved equivalent, have so many times as many vectors.
const LONGER: u64 = 8;

/// The last run has so many times as many vectors. It is for the few faults that one row or job in a million shows.
const LONGEST: u64 = 64;

/// A compiled model of a design with a sample of its mutations.
#[derive(Clone, Debug)]
pub struct Mutants {
    pub(super) design: Design,
    pub(super) model: Model,
    pub(super) source: Source,
    /// The cache of models and of verdicts.
    pub(super) cache: Cache,
    pub(super) list: Vec<Mutation>,
    available: usize,
}

/// How to run a bench on mutants.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed, vectors and patience. Waveforms and coverage are not made.
    pub run: RunOptions,
    /// The effort to prove that a mutant cannot be noticed; `None` does not try.
    pub proof: Option<Limits>,
}

impl Default for Options {
    fn default() -> Self {
        Self { run: RunOptions::default(), proof: Some(Limits::default()) }
    }
}

impl Mutants {
    /// Runs `bench` on the unchanged design.
    ///
    /// # Errors
    /// The bench fails or compares nothing.
    pub fn effort(&self, bench: &dyn Bench, options: &RunOptions) -> Result<Effort> {
        Ok(Judge::new(bench, &self.model, options)?.effort)
    }
}

/// Bits of the input that chooses one of so many mutants, or none.
pub(super) fn select_width(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

/// Yosys commands that apply mutations to a design. A number at the input selects one, from 1.
pub(super) fn commands<'a>(mutations: impl ExactSizeIterator<Item = &'a Mutation>) -> String {
    let width = select_width(mutations.len());
    let one = |(index, mutation): (usize, &Mutation)| {
        format!("mutate -ctrl {SELECT} {width} {} {}\n", index + 1, mutation.options)
    };
    mutations.enumerate().map(one).collect()
}

/// Applies all chosen mutations to one design, where an added input selects one of them, and compiles the design.
///
/// # Errors
/// [`Error::Unsupported`] when there is nothing to mutate; and all errors of Yosys and [`Model::build`].
pub fn build(mutations: Mutations, options: &BuildOptions) -> Result<Mutants> {
    let Mutations { design, source, available, chosen: list } = mutations;
    if list.is_empty() {
        return Err(Error::Unsupported(format!("design `{}` has nothing that can be mutated", design.top)));
    }
    let model = match &source {
        Source::Netlist(netlist) => {
            Model::build(&mutated_netlist(&design, netlist, &list)?, &BuildOptions { plain: true, ..options.clone() })?
        }
        Source::Ir(ir) => Model::build(&Design::from(&with_faults(ir, list.iter())), options)?,
    };
    Ok(Mutants { model, design, source, cache: options.cache.clone(), list, available })
}

/// The elaborated design with mutations. A number at the input selects one, from 1.
pub(super) fn with_faults<'a>(
    ir: &hdl::lang::Design,
    mutations: impl Iterator<Item = &'a Mutation>,
) -> hdl::lang::Design {
    let faults: Vec<_> = mutations.filter_map(|mutation| mutation.fault.clone()).collect();
    ir.with_faults(SELECT, &faults)
}

/// A netlist with mutations, as a design.
fn mutated_netlist(design: &Design, netlist: &str, list: &[Mutation]) -> Result<Design> {
    let width = select_width(list.len());
    // Verilator computes wrong values if logic that reads a bit of a net drives another bit of the same net.
    let script =
        format!("read_rtlil netlist.il\n{}splitnets -driver\nwrite_verilog -noattr mutated.v\n", commands(list.iter()));
    let folder = folder_of(&[SourceFile { name: "netlist.il".into(), text: netlist.to_owned() }])?;
    yosys_in(folder.path(), &script)?;
    let text = output(&folder, "mutated.v")?;
    if !text.trim_end().ends_with("endmodule") {
        return Err(incomplete(design));
    }
    let mut mutated = design.clone();
    mutated.defines.clear();
    mutated.files.retain(|file| !is_verilog(file));
    mutated.files.push(SourceFile { name: format!("{}_mutated.v", design.top), text });
    if !mutated.ports.is_empty() {
        mutated.ports.push(Port { name: SELECT.into(), dir: Dir::Input, width, signed: false });
    }
    Ok(mutated)
}

/// Runs `bench` on the unchanged design and on each mutant, until the bench notices. Mutants that it does not notice,
/// and that are not proved equivalent, are run again with other seeds.
///
/// # Errors
/// The bench fails on the unchanged design, or compares nothing.
pub fn run(bench: &dyn Bench, mutants: &Mutants, options: &Options) -> Result<Report> {
    let mut seconds = [0.0; 2];
    let undecided =
        |mutation: &Mutation| Tested { mutation: mutation.clone(), outcome: Outcome::Survived { differs_in: None } };
    let mut tested: Vec<Tested> = mutants.list.iter().map(undecided).collect();
    let mut open: Vec<usize> = (0..tested.len()).collect();
    let mut cycles = 0;
    for more in 0..STARTS {
        let start = Instant::now();
        let times = match more + 1 {
            STARTS => LONGEST,
            run if run <= BEFORE_PROOFS => 1,
            _ => LONGER,
        };
        let vectors = options.run.vectors * times;
        let run = RunOptions { seed: options.run.seed + more, vectors, ..options.run.clone() };
        let judge = Judge::new(bench, &mutants.model, &run)?;
        let mut left = Vec::new();
        for index in open {
            match one(&judge, mutants, index)? {
                Some(kill) => tested[index].outcome = Outcome::Killed(kill),
                None => left.push(index),
            }
        }
        seconds[0] += start.elapsed().as_secs_f64();
        if more == 0 {
            cycles = judge.effort.cycles;
        }
        if more + 1 == BEFORE_PROOFS
            && let (Some(limits), false) = (&options.proof, left.is_empty())
        {
            let start = Instant::now();
            let outcomes = equivalence::decide(mutants, &judge.contract, &left, limits)?;
            left.iter().zip(outcomes).for_each(|(index, outcome)| tested[*index].outcome = outcome);
            left.retain(|index| tested[*index].outcome != Outcome::Equivalent);
            seconds[1] = start.elapsed().as_secs_f64();
        }
        open = left;
        if open.is_empty() {
            break;
        }
    }
    Ok(Report {
        block: bench.block().to_owned(),
        parameters: bench.parameters(),
        available: mutants.available,
        tested,
        cycles,
        run_seconds: seconds[0],
        proof_seconds: seconds[1],
    })
}

/// Runs the bench on one mutant.
fn one(judge: &Judge, mutants: &Mutants, index: usize) -> Result<Option<Kill>> {
    judge.run(&mutants.model, |sim| {
        let select = sim.input(SELECT)?;
        sim.poke_u64(select, index as u64 + 1);
        Ok(())
    })
}
