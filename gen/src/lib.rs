//! The command line: lists, generates, checks, simulates, synthesises and proves the blocks of the catalogue.
//!
//! [`registry`] knows all blocks; each command is one file of `commands`. [`flows`] holds what external tools do with a
//! design; [`point`] runs such stages on one set of parameters and files the results, [`sweep`] makes the points from a
//! file, [`engine`] runs them; [`present`] shows what came out, [`waveform`] reads waveforms. Exit codes: 0 fine, 1 a check failed, 2 wrong arguments or parameters, 3 a tool is missing,
//! 4 no answer: a tool was killed or ran out of time, memory or disk, and another run may succeed.

mod commands;
pub mod coverage;
#[cfg(test)]
mod damage;
pub mod engine;
pub mod error;
pub mod flows;
pub mod mutation;
pub mod output;
mod parallel;
pub mod params;
pub mod point;
pub mod present;
pub mod registry;
pub mod shell;
pub mod sweep;
pub mod waveform;

use std::process::ExitCode;

use clap::Parser;

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    match commands::run(commands::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, error::Failure::Reported) {
                error::tell(&failure.told());
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
