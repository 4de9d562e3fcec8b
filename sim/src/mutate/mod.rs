//! Mutation: does a bench notice small faults anywhere in the hardware?
//!
//! Yosys' `mutate` lists faults of a netlist: a bit of a cell's port inverted, stuck, or dependent on its neighbour. [`list`]
//! samples them by a seed. [`build`] puts all of the sample into one model, each behind a value of a hidden input, because
//! compiling a model takes seconds and running a bench on a small block milliseconds. [`run`] runs the bench on each of
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
mod list;
mod report;
mod run;

pub use equivalence::Limits;
pub use list::{Mutation, Mutations, Sample, list};
pub use report::{Outcome, Report, Tested};
pub(crate) use run::SELECT;
pub use run::{Mutants, Options, build, run};
