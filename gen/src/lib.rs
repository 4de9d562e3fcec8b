//! Hardware blocks in Rust: Verilog comes out, and a golden model checks it.
//!
//! A block states its parameters, ports and contract, and builds its hardware. Its bench drives it and compares it with a golden
//! model. A catalogue of such blocks is a command line: `senbazuru new my_block` writes a crate with one.
//!
//! ```
//! use senbazuru::prelude::*;
//!
//! parameters! {
//!     /// Elaboration parameters.
//!     pub struct Doubler {
//!         /// Width of the input in bits.
//!         width: u32 = 8, in 1..=32, tag "w";
//!     }
//! }
//!
//! ports! {
//!     /// Ports of [`Doubler`].
//!     pub struct DoublerPorts(p: &Doubler) {
//!         /// A number.
//!         data_i: In = uint(p.width),
//!         /// Twice the number.
//!         double_o: Out = uint(p.width + 1),
//!     }
//! }
//!
//! impl Block for Doubler {
//!     type Ports = DoublerPorts;
//!     const ABOUT: About =
//!         About { name: "doubler", summary: "twice a number", contract: "double_o = 2 data_i.", reference: "" };
//!
//!     fn build(&self, m: &mut Module, io: &DoublerPorts) {
//!         m.connect(io.double_o, io.data_i + io.data_i);
//!     }
//! }
//!
//! impl CatalogBlock for Doubler {
//!     fn configurations() -> Vec<Self> {
//!         vec![Doubler { width: 1 }]
//!     }
//! }
//!
//! /// The golden model is `2 * x`.
//! fn bench(p: &Doubler) -> anyhow::Result<Box<dyn Bench>> {
//!     let width = p.width;
//!     sim::kit::bench(p, move |sim, run| {
//!         let mut rng = run.rng("numbers");
//!         let (data_i, double_o) = (sim.input("data_i")?, sim.output("double_o")?);
//!         for _ in 0..run.vectors() {
//!             let x = rng.random_range(0..1u64 << width);
//!             sim.poke_u64(data_i, x);
//!             sim.settle()?;
//!             run.expect_u64(sim, double_o, 2 * x)?;
//!         }
//!         Ok(())
//!     })
//! }
//!
//! // In a `main`, `.cli()` runs the command line on these blocks.
//! let catalogue = Catalogue::empty().block::<Doubler>("mine", bench);
//! let block = catalogue.find("doubler")?;
//! assert!(block.elaborate(&block.defaults())?.verilog()[0].text.contains("assign double_o = data_i + data_i;"));
//! for report in run_all(bench, &options(1000))? {
//!     assert_eq!(report.compared, 1000);
//! }
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! A [`Catalogue`] knows all blocks. `commands` has a file for each command.
//!
//! - [`flows`] runs external tools on a design.
//! - [`point`] runs such stages on one set of parameters and stores the results.
//! - [`sweep`] makes the points from a file, and [`engine`] runs them.
//! - [`present`] shows the results, and [`waveform`] reads waveforms.
//!
//! Exit codes:
//!
//! | code | meaning |
//! | ---: | --- |
//! | 0 | all is well |
//! | 1 | a check failed |
//! | 2 | arguments or parameters are wrong |
//! | 3 | a tool is missing |
//! | 4 | no answer: a tool was killed, or ran out of time, memory or disk; another run may succeed |

// Generated files name the crate as its users do.
#[cfg(feature = "standard")]
extern crate host as senbazuru_host;

#[cfg(feature = "accelerators")]
pub mod accelerator;
#[cfg(feature = "standard")]
pub mod accelerators;
pub mod catalogue;
mod cli;
mod commands;
#[cfg(feature = "standard")]
mod compare;
pub mod coverage;
#[cfg(test)]
mod damage;
pub mod engine;
pub mod error;
#[cfg(feature = "standard")]
mod explore;
pub mod flows;
#[cfg(feature = "standard")]
mod memory;
pub mod mutation;
pub mod output;
mod parallel;
pub mod params;
pub mod point;
pub mod present;
pub mod shell;
#[cfg(feature = "standard")]
pub mod standard;
pub mod sweep;
pub mod waveform;

/// Where the weights of the language model are, in a build that has one.
fn weights() -> Option<std::path::PathBuf> {
    #[cfg(feature = "standard")]
    return Some(models::default_model::path());
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
