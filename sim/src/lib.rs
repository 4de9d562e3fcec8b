//! Co-simulation: everything that runs Verilator.
//!
//! A [`Design`] (Verilog and ports) becomes a compiled [`Model`], kept in a cache; a model gives any number of instances
//! ([`Sim`]), which are poked, ticked and peeked at the speed of a C++ harness. [`run`] drives a [`Bench`] and turns a
//! difference from the golden model into a [`Mismatch`]: a complete report with a waveform.
//!
//! A design comes from the construction language (`Design::from(&hdl_design)`) or as plain Verilog. The golden models
//! know nothing of this crate.
//!
//! ```
//! use sim::{BuildOptions, Design, Model};
//!
//! let verilog = "
//! module counter(input wire clk_i, input wire rst_ni, input wire [7:0] step_i, output reg [31:0] count_o);
//!   always @(posedge clk_i or negedge rst_ni)
//!     if (!rst_ni) count_o <= 32'd0; else count_o <= count_o + {24'd0, step_i};
//! endmodule";
//! let model = Model::build(&Design::from_verilog("counter", verilog), &BuildOptions::default())?;
//! let mut sim = model.instance()?;
//! let (step, count) = (sim.input("step_i")?, sim.output("count_o")?);
//! sim.reset(2)?;
//! for value in 1..=10 {
//!     sim.poke_u64(step, value);
//!     sim.tick()?;
//! }
//! assert_eq!(sim.peek_u64(count), 55);
//! sim.cycles(1_000)?; // free run in one call
//! assert_eq!(sim.peek_u64(count), 10_055);
//! # Ok::<(), sim::Error>(())
//! ```

pub mod aig;
mod bits;
mod broken;
pub mod bus;
mod error;
pub mod facts;
pub mod fault;
pub mod files;
pub mod folders;
mod from_hdl;
pub mod held;
pub mod kit;
pub mod lint;
mod lockstep;
mod mismatch;
pub mod mutate;
pub mod process;
mod runner;
pub mod stimulus;
mod stream;
mod typed;
mod verilator;

pub use bits::{Bits, DoesNotFit};
pub use broken::{Effort, Kill};
pub use error::{Error, Result};
pub use lockstep::{Lockstep, OutOfStep};
pub use mismatch::{Difference, Mismatch};
pub use runner::{Bench, Run, RunOptions, RunReport, run};
pub use stream::{Beat, StreamDriver, StreamMonitor};
pub use typed::{Driver, Monitor, Values};
pub use verilator::{
    BuildOptions, CACHE_LIMIT, Cache, Coverage, Design, Dir, Engine, In, Initial, Model, Native, Opt, Out, Port, Ratio,
    Sim, SourceFile, Trace,
};
