//! The commands: arguments here, and a file for each command.

#[cfg(feature = "standard")]
mod calibrate;
#[cfg(feature = "standard")]
mod calibration;
mod clean;
#[cfg(feature = "standard")]
mod compare;
mod coverage;
mod diff;
mod doctor;
mod energy;
#[cfg(feature = "standard")]
mod eval;
#[cfg(feature = "standard")]
mod explore;
mod fpga;
mod generate;
mod info;
mod layout;
mod lint;
mod list;
#[cfg(feature = "standard")]
mod lower;
mod memories;
#[cfg(feature = "standard")]
mod model;
mod mutate;
mod new;
mod point;
mod prove;
mod render;
mod report;
#[cfg(feature = "standard")]
mod run;
mod sim;
mod sweep;
mod synth;
mod target;
mod wave;

#[cfg(feature = "standard")]
pub(crate) use {
    calibrate::{file_name, tokens},
    run::chosen::Source,
    run::failures::{chain, failed, refused},
};

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use crate::catalogue::Catalogue;
use crate::error::{self, Failure, Result};
use crate::shell;

/// Hardware blocks of LLM accelerators: Verilog, co-simulation, synthesis, proofs.
#[derive(Debug, Parser)]
#[command(name = "senbazuru", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a crate for a block of your own: hardware, golden model, bench and tests in one file
    ///
    /// The first build of the new crate compiles the toolkit as well, and takes some minutes.
    New(new::Args),
    /// Show all blocks
    List(list::Args),
    /// Show what a block does, its parameters, ports and modules
    Info(info::Args),
    /// Write Verilog, file list and manifest
    Gen(generate::Args),
    /// Check the Verilog with Verilator, Icarus Verilog and Yosys; any message is a failure
    Lint(lint::Args),
    /// Simulate the block and compare it with its golden model, in the native engine or in Verilator
    Sim(sim::Args),
    /// Break the block in many small ways and count the breaks that its bench notices
    Mutate(mutate::Args),
    /// Count lines, branches and bits of the block's Verilog that its bench reaches
    Coverage(coverage::Args),
    /// Show what a language model has, and which accelerators can run it
    #[cfg(feature = "standard")]
    Model(model::Args),
    /// Let a language model write text on an accelerator in simulation
    #[cfg(feature = "standard")]
    Run(run::Args),
    /// Write a layer of a language model as files that a C program runs on an accelerator
    #[cfg(feature = "standard")]
    Lower(lower::Args),
    /// Let an accelerator learn from a text what a language model on it needs: groups, codebooks, thresholds, scales
    ///
    /// `run`, `lower`, `eval` and `explore` take the folder with `--calibration`.
    #[cfg(feature = "standard")]
    Calibrate(calibrate::Args),
    /// Synthesise with Yosys: cells, flip-flops, AND nodes and levels, area
    Synth(synth::Args),
    /// List a block's memories: which SRAM macros they take, their area and clock, and what stays in flip-flops
    Memories(memories::Args),
    /// Build a block for an FPGA: lookup tables, flip-flops, multipliers, block RAMs, clock
    Fpga(fpga::Args),
    /// Place and route a block in cells of a library: area, wires, clock with wires, GDS, design rules, a picture
    Layout(layout::Args),
    /// Sum up the energy of a testbench's run, with the block in cells of a library
    Energy(energy::Args),
    /// Prove that two versions of a design do the same, or show a run in which they differ
    Diff(diff::Args),
    /// Prove the block's properties with yosys-smtbmc
    Prove(prove::Args),
    /// Run every combination of parameters that a file describes, through the stages that it names
    Sweep(sweep::Args),
    /// Run the stages of a sweep on one set of parameters
    Point(point::Args),
    /// Measure what schemes of numbers cost a language model: perplexity of a text, answers to questions
    #[cfg(feature = "standard")]
    Eval(eval::Args),
    /// Search for settings of an algorithm that are best in two ways at once, on a language model
    #[cfg(feature = "standard")]
    Explore(explore::Args),
    /// Compare accelerators on language models: cycles by context, batch and bandwidth, who is the fastest, and why
    #[cfg(feature = "standard")]
    Compare(compare::Args),
    /// Draw signals of a waveform file as a timing diagram, in SVG
    Wave(wave::Args),
    /// Fill a template with numbers of sweeps
    Render(render::Args),
    /// Make the HTML page of a sweep: table, curves, diagrams
    Report(report::Args),
    /// Show which tools are installed, their versions, and which commands do not work because a tool is missing
    Doctor(doctor::Args),
    /// Remove all compiled models from the cache, or the ones that nobody used for the longest time
    Clean(clean::Args),
    /// Print the completion script of a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// Runs the command of these words; `wrong` has the errors of the catalogue. Returns the exit code.
pub(crate) fn main(catalogue: &Catalogue, wrong: &[String], words: impl Iterator<Item = OsString>) -> u8 {
    shell::remember_program();
    let cli = match Cli::try_parse_from(std::iter::once(shell::program().into()).chain(words)) {
        Ok(cli) => cli,
        Err(told) => {
            // A reader that went away is no error.
            let _ = told.print();
            return told.exit_code() as u8;
        }
    };
    let refused = (!wrong.is_empty()).then(|| Failure::Usage(format!("the catalogue: {}", wrong.join("; "))));
    match refused.map_or_else(|| run(cli, catalogue), Err) {
        Ok(()) => 0,
        Err(failure) => {
            if !matches!(failure, Failure::Reported) {
                error::tell(&failure.told());
            }
            failure.exit_code()
        }
    }
}

/// Runs a command.
fn run(cli: Cli, catalogue: &Catalogue) -> Result<()> {
    match cli.command {
        Command::New(args) => new::run(&args),
        Command::List(args) => list::run(&args, catalogue),
        Command::Info(args) => info::run(&args, catalogue),
        Command::Gen(args) => generate::run(&args, catalogue),
        Command::Lint(args) => lint::run(&args, catalogue),
        Command::Sim(args) => sim::run(&args, catalogue),
        Command::Mutate(args) => mutate::run(&args, catalogue),
        Command::Coverage(args) => coverage::run(&args, catalogue),
        #[cfg(feature = "standard")]
        Command::Model(args) => model::run(&args, catalogue),
        #[cfg(feature = "standard")]
        Command::Run(args) => run::run(&args, catalogue),
        #[cfg(feature = "standard")]
        Command::Lower(args) => lower::run(&args, catalogue),
        #[cfg(feature = "standard")]
        Command::Calibrate(args) => calibrate::run(&args, catalogue),
        Command::Synth(args) => synth::run(&args, catalogue),
        Command::Memories(args) => memories::run(&args, catalogue),
        Command::Fpga(args) => fpga::run(&args, catalogue),
        Command::Layout(args) => layout::run(&args, catalogue),
        Command::Energy(args) => energy::run(&args, catalogue),
        Command::Diff(args) => diff::run(&args),
        Command::Prove(args) => prove::run(&args, catalogue),
        Command::Sweep(args) => sweep::run(&args, catalogue),
        Command::Point(args) => point::run(&args, catalogue),
        #[cfg(feature = "standard")]
        Command::Eval(args) => eval::run(&args, catalogue),
        #[cfg(feature = "standard")]
        Command::Explore(args) => explore::run(&args, catalogue),
        #[cfg(feature = "standard")]
        Command::Compare(args) => compare::run(&args, catalogue),
        Command::Wave(args) => wave::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Report(args) => report::run(&args, catalogue),
        Command::Doctor(args) => doctor::run(&args),
        Command::Clean(args) => clean::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), shell::program(), &mut script);
            let script = String::from_utf8(script).map_err(|e| Failure::Check(e.to_string()))?;
            crate::present::report::print(&script)
        }
    }
}
