//! Runs a bench on each mutant.

use std::time::Instant;

use super::equivalence::{self, Limits};
use super::list::{Mutation, Mutations};
use super::report::{Outcome, Report, Tested};
use crate::broken::Judge;
use crate::lint::{folder_of, incomplete, is_verilog, output, yosys_in};
use crate::{Bench, BuildOptions, Design, Dir, Effort, Error, Model, Port, Result, RunOptions, SourceFile};

/// The input of a model with mutants that chooses one of them by its number, from 1; at 0 it is the design as it is.
pub(super) const SELECT: &str = "senbazuru_select_i";

/// A compiled model of a design with a sample of its mutations.
#[derive(Clone, Debug)]
pub struct Mutants {
    pub(super) design: Design,
    pub(super) model: Model,
    /// The netlist that the model is made of, in Yosys' format.
    pub(super) netlist: String,
    pub(super) list: Vec<Mutation>,
    available: usize,
}

/// How to run a bench on mutants.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed, vectors and patience. Waveforms and coverage are not made.
    pub run: RunOptions,
    /// How hard to try to prove that a mutant which was not noticed cannot be.
    pub proof: Limits,
}

impl Mutants {
    /// Runs `bench` on the design as it is.
    ///
    /// # Errors
    /// The bench fails, or compares nothing.
    pub fn effort(&self, bench: &dyn Bench, options: &RunOptions) -> Result<Effort> {
        Ok(Judge::new(bench, &self.model, options)?.effort)
    }

    /// Bits of the input that chooses a mutant.
    pub(super) fn select_width(&self) -> u32 {
        select_width(self.list.len())
    }
}

fn select_width(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

/// Applies all chosen mutations to one netlist, each behind a value of an added input, and compiles it.
///
/// # Errors
/// [`Error::Unsupported`] when there is nothing to mutate; whatever Yosys and [`Model::build`] say.
pub fn build(mutations: Mutations, options: &BuildOptions) -> Result<Mutants> {
    let Mutations { design, netlist, available, chosen: list } = mutations;
    if list.is_empty() {
        return Err(Error::Unsupported(format!("design `{}` has nothing that can be mutated", design.top)));
    }
    let width = select_width(list.len());
    let mut script = String::from("read_rtlil netlist.il\n");
    for (index, mutation) in list.iter().enumerate() {
        script += &format!("mutate -ctrl {SELECT} {width} {} {}\n", index + 1, mutation.options);
    }
    script += "write_rtlil mutated.il\nwrite_verilog -noattr mutated.v\n";
    let folder = folder_of(&[SourceFile { name: "netlist.il".into(), text: netlist }])?;
    yosys_in(folder.path(), &script)?;
    let (netlist, text) = (output(&folder, "mutated.il")?, output(&folder, "mutated.v")?);
    if !text.trim_end().ends_with("endmodule") || !netlist.trim_end().ends_with("end") {
        return Err(incomplete(&design));
    }
    let mut mutated = design.clone();
    mutated.defines.clear();
    mutated.files.retain(|file| !is_verilog(file));
    mutated.files.push(SourceFile { name: format!("{}_mutated.v", design.top), text });
    if !mutated.ports.is_empty() {
        mutated.ports.push(Port { name: SELECT.into(), dir: Dir::Input, width, signed: false });
    }
    Ok(Mutants { model: Model::build(&mutated, options)?, design, netlist, list, available })
}

/// Runs `bench` on the design as it is and on each mutant, each until the bench notices.
///
/// # Errors
/// The bench fails on the design as it is, or compares nothing.
pub fn run(bench: &dyn Bench, mutants: &Mutants, options: &Options) -> Result<Report> {
    let start = Instant::now();
    let judge = Judge::new(bench, &mutants.model, &options.run)?;
    let mut tested = Vec::new();
    let mut open = Vec::new();
    for (index, mutation) in mutants.list.iter().enumerate() {
        let kill = judge.run(&mutants.model, |sim| {
            let select = sim.input(SELECT)?;
            sim.poke_u64(select, index as u64 + 1);
            Ok(())
        })?;
        if kill.is_none() {
            open.push(index);
        }
        let outcome = kill.map_or(Outcome::Survived { differs_in: None }, Outcome::Killed);
        tested.push(Tested { mutation: mutation.clone(), outcome });
    }
    let run_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    if !open.is_empty() {
        let outcomes = equivalence::decide(mutants, &judge.streams, &open, &options.proof)?;
        for (index, outcome) in open.into_iter().zip(outcomes) {
            tested[index].outcome = outcome;
        }
    }
    Ok(Report {
        block: bench.block().to_owned(),
        parameters: bench.parameters(),
        available: mutants.available,
        tested,
        cycles: judge.effort.cycles,
        run_seconds,
        proof_seconds: start.elapsed().as_secs_f64(),
    })
}
