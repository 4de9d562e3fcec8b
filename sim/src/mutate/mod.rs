//! Mutation: does a bench notice small faults anywhere in the hardware?
//!
//! A mutation is a fault of one bit: inverted, stuck, or dependent on its neighbour. [`list_ir`] samples those of a design
//! of the construction language by a seed, [`list`] those of any Verilog: Yosys' `mutate` finds them in the netlist.
//! [`build`] puts all of the sample into one model, each behind a value of a hidden input, because
//! compiling a model takes seconds and running a bench on a small block milliseconds. A design of the construction
//! language runs in the native engine, like the design without mutations. [`run`] runs the bench on each of
//! them until it notices, and asks ABC of those that it did not whether they can be noticed at all.
//!
//! ```no_run
//! # fn example(bench: &dyn sim::Bench, design: &sim::Design) -> sim::Result<()> {
//! use sim::mutate;
//!
//! let sample = mutate::list(design, mutate::Sample { count: 100, seed: 1 })?;
//! let mutants = mutate::build(sample, &sim::BuildOptions::default())?;
//! let report = mutate::run(bench, &mutants, &mutate::Options::default())?;
//! println!("{report}");
//! # Ok(())
//! # }
//! ```

mod equivalence;
mod ir;
mod list;
mod miter;
mod parts;
mod report;
mod run;

pub use equivalence::Limits;
pub use ir::list_ir;
pub use list::{Mutation, Mutations, Sample, list};
pub use report::{Outcome, Report, Tested};
pub use run::{Mutants, Options, SELECT, build, run};
