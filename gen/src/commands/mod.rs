//! The commands: arguments here, one file each for what they do.

mod clean;
mod coverage;
mod diff;
mod doctor;
mod energy;
mod explore;
mod fpga;
mod generate;
mod info;
mod lint;
mod list;
mod mutate;
mod point;
mod prove;
mod render;
mod report;
mod run;
mod sim;
mod sweep;
mod synth;
mod wave;

use clap::{CommandFactory, Parser, Subcommand};

use crate::error::{Failure, Result};
use crate::params::ParamArgs;
use crate::registry::{self, Entry, Params};

/// Hardware blocks of LLM accelerators: Verilog, co-simulation, synthesis, proofs.
#[derive(Debug, Parser)]
#[command(name = "senbazuru", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show all blocks
    List(list::Args),
    /// Show what a block does, its parameters, ports and modules
    Info(info::Args),
    /// Write Verilog, file list and manifest
    Gen(generate::Args),
    /// Check the Verilog with Verilator, Icarus Verilog and Yosys; any message is a failure
    Lint(lint::Args),
    /// Co-simulate with the golden model in Verilator
    Sim(sim::Args),
    /// Break the block's netlist in many small ways and count those that its bench notices
    Mutate(mutate::Args),
    /// Count lines, branches and bits of the block's Verilog that its bench reaches
    Coverage(coverage::Args),
    /// Let a language model write text on an accelerator in simulation
    Run(run::Args),
    /// Synthesise with Yosys: cells, flip-flops, AND nodes and levels, area
    Synth(synth::Args),
    /// Build a block for an FPGA: lookup tables, flip-flops, multipliers, block RAMs, clock
    Fpga(fpga::Args),
    /// Energy of a testbench's run in the cells of a library
    Energy(energy::Args),
    /// Prove that two versions of some designs do the same, or show a run that tells them apart
    Diff(diff::Args),
    /// Prove the block's properties with yosys-smtbmc
    Prove(prove::Args),
    /// Run every combination of parameters that a file describes, through the stages that it names
    Sweep(sweep::Args),
    /// Run the stages of a sweep on one set of parameters
    Point(point::Args),
    /// Search for settings of an algorithm that are best in two ways at once, on a language model
    Explore(explore::Args),
    /// Draw signals of a waveform file as a timing diagram, in SVG
    Wave(wave::Args),
    /// Fill a template with numbers of sweeps
    Render(render::Args),
    /// Make the HTML page of a sweep: table, curves, diagrams
    Report(report::Args),
    /// Show which tools are installed, in which versions, and what does not work without those that are missing
    Doctor(doctor::Args),
    /// Remove compiled models from the cache, or those that were not used for the longest time
    Clean(clean::Args),
    /// Print the completion script of a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// A block and its parameters.
#[derive(Debug, clap::Args)]
struct Target {
    /// Block, see `senbazuru list`
    block: String,
    #[command(flatten)]
    params: ParamArgs,
}

impl Target {
    fn resolve(&self) -> Result<(Box<dyn Entry>, Params)> {
        let entry = registry::find(&self.block)?;
        let params = self.params.resolve(&*entry)?;
        Ok((entry, params))
    }
}

/// A block with its parameters, several with their defaults, or all.
#[derive(Debug, clap::Args)]
struct Targets {
    /// Blocks, see `senbazuru list`; `--set` and `--config` go with one block
    #[arg(required_unless_present = "all", value_name = "BLOCK")]
    blocks: Vec<String>,
    /// All blocks, with their default parameters
    #[arg(long, conflicts_with_all = ["blocks", "set", "config"])]
    all: bool,
    #[command(flatten)]
    params: ParamArgs,
}

impl Targets {
    fn resolve(&self) -> Result<Vec<(Box<dyn Entry>, Params)>> {
        if self.all {
            return Ok(registry::all().into_iter().map(|e| (e.defaults(), e)).map(|(p, e)| (e, p)).collect());
        }
        if let Some((_, twice)) = self.blocks.iter().enumerate().find(|(n, b)| self.blocks[..*n].contains(b)) {
            return Err(Failure::Usage(format!("block `{twice}` is named twice")));
        }
        if self.blocks.len() > 1 && !self.params.is_default() {
            return Err(Failure::Usage("--set and --config go with one block: name one, or leave them out".into()));
        }
        let resolve = |block: &String| {
            let entry = registry::find(block)?;
            let params = self.params.resolve(&*entry)?;
            Ok((entry, params))
        };
        self.blocks.iter().map(resolve).collect()
    }
}

/// Runs a command.
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::List(args) => list::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Gen(args) => generate::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Sim(args) => sim::run(&args),
        Command::Mutate(args) => mutate::run(&args),
        Command::Coverage(args) => coverage::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Synth(args) => synth::run(&args),
        Command::Fpga(args) => fpga::run(&args),
        Command::Energy(args) => energy::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Prove(args) => prove::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Point(args) => point::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Wave(args) => wave::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Clean(args) => clean::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "senbazuru", &mut script);
            let script = String::from_utf8(script).map_err(|e| Failure::Check(e.to_string()))?;
            crate::present::report::print(&script)
        }
    }
}
