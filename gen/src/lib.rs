//! The command line: lists, generates, checks, simulates, synthesises and proves the blocks of the catalogue.
//!
//! A [`Catalogue`] knows all blocks; each command is one file of `commands`. [`flows`] holds what external tools do with a
//! design; [`point`] runs such stages on one set of parameters and files the results, [`sweep`] makes the points from a
//! file, [`engine`] runs them; [`present`] shows what came out, [`waveform`] reads waveforms. Exit codes: 0 fine, 1 a check failed, 2 wrong arguments or parameters, 3 a tool is missing,
//! 4 no answer: a tool was killed or ran out of time, memory or disk, and another run may succeed.

pub mod catalogue;
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
pub mod shell;
#[cfg(feature = "standard")]
mod standard;
pub mod sweep;
pub mod waveform;

/// Where the weights of the language model are, in a build that has one.
fn weights() -> Option<std::path::PathBuf> {
    #[cfg(feature = "standard")]
    return Some(models::smollm2::path());
    #[cfg(not(feature = "standard"))]
    None
}

pub use catalogue::{Catalogue, Line};
pub use {anyhow, hdl, rand, sim};

/// All that a block, its bench and its tests need.
pub mod prelude {
    pub use hdl::lang::*;
    pub use sim::fault::Fault;
    pub use sim::kit::faults::must_be_noticed;
    pub use sim::kit::{MakeBench, bench, options, run_all};
    pub use sim::{Bench, Bits, Run, RunOptions, Sim};
    pub use {anyhow, rand, rand::RngExt, sim};

    pub use crate::{Catalogue, Line};
}
