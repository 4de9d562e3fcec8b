//! The command line: lists, generates, checks, simulates, synthesises and proves the blocks of the catalogue.
//!
//! [`registry`] knows all blocks; each command is one file of `commands`; `lint`, `synth` and `prove` hold the
//! scripts that Yosys runs; `point` runs such stages on one set of parameters and files the results, `sweep` makes the
//! points from a file, `engine` runs them. Exit codes: 0 fine, 1 a check failed, 2 wrong arguments or parameters, 3 a tool is missing.

mod commands;
pub mod energy;
pub mod engine;
pub mod error;
pub mod liberty;
pub mod lint;
pub mod output;
pub mod page;
pub mod params;
pub mod pdr;
pub mod point;
mod progress;
pub mod prove;
pub mod registry;
pub mod render;
mod report;
pub mod sweep;
pub mod synth;
mod table;
pub mod tools;
pub mod wave;
pub mod yosys;

use std::process::ExitCode;

use clap::Parser;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    match commands::run(commands::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, error::Failure::Reported) {
                eprintln!("error: {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
