//! Mutation: does a bench notice small faults anywhere in the hardware?
//!
//! A mutation is a fault of one bit: inverted, stuck, or dependent on its neighbour. [`list_ir`] samples the mutations
//! of a design of the construction language by a seed. [`list`] samples the mutations of any Verilog, which Yosys'
//! `mutate` finds in the netlist.
//!
//! [`build`] puts the whole sample into one model, and a hidden input selects a mutation. Compiling a model takes
//! seconds, while a run of a bench on a small block takes milliseconds. A design of the construction language runs in
//! the native engine, like the design without mutations. [`run`] runs the bench on each mutant until it notices. For
//! the other mutants it asks ABC whether they can be noticed at all.
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
mod limits;
mod list;
mod miter;
mod mutants;
mod parts;
mod report;
mod run;
mod select;
mod side_by_side;
mod sizes;

pub use ir::list_ir;
pub use limits::Limits;
pub use list::{Mutation, Mutations, Sample, list};
pub use mutants::{Mutants, build};
pub use report::{Outcome, Report, Tested};
pub use run::{Options, run};
pub use select::SELECT;
