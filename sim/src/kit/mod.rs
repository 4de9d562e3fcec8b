//! How the bench of a block is made and run.
//!
//! ```
//! use hdl::lang::*;
//! use rand::RngExt;
//! # parameters! {
//! #     /// Elaboration parameters.
//! #     pub struct Doubler {
//! #         /// Width of the input in bits.
//! #         width: u32 = 8, in 1..=32, tag "w";
//! #     }
//! # }
//! # ports! {
//! #     /// Ports.
//! #     pub struct DoublerPorts(p: &Doubler) {
//! #         /// A number.
//! #         data_i: In = uint(p.width),
//! #         /// Twice the number.
//! #         double_o: Out = uint(p.width + 1),
//! #     }
//! # }
//! # impl Block for Doubler {
//! #     type Ports = DoublerPorts;
//! #     const ABOUT: About =
//! #         About { name: "doubler", summary: "twice a number", contract: "double_o = 2 data_i.", reference: "" };
//! #     fn build(&self, m: &mut Module, io: &DoublerPorts) {
//! #         m.connect(io.double_o, io.data_i + io.data_i);
//! #     }
//! # }
//! # impl CatalogBlock for Doubler {
//! #     fn configurations() -> Vec<Self> { vec![Doubler { width: 1 }] }
//! # }
//!
//! /// Compares a `Doubler` with `2 * x` in Rust.
//! fn bench(p: &Doubler) -> anyhow::Result<Box<dyn sim::Bench>> {
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
//! for report in sim::kit::run_all(bench, &sim::kit::options(1000))? {
//!     assert_eq!(report.compared, 1000);
//! }
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod faults;
pub mod tensors;

use hdl::lang::{Block, CatalogBlock};
use serde_json::Value;

use crate::{Bench, Design, Run, RunOptions, RunReport, Sim};
/// The testbench of a block with parameters `p`: `work` drives one instance and compares it with the golden model. It
/// must be a function of the run's seed alone.
///
/// # Errors
/// The block refuses the parameters.
pub fn bench<'a, B: Block>(
    p: &B,
    work: impl Fn(&mut Sim, &mut Run) -> crate::Result<()> + 'a,
) -> anyhow::Result<Box<dyn Bench + 'a>> {
    p.check()?;
    Ok(Box::new(BlockBench { block: B::ABOUT.name, parameters: p.values(), work }))
}

struct BlockBench<F> {
    block: &'static str,
    parameters: Value,
    work: F,
}

impl<F: Fn(&mut Sim, &mut Run) -> crate::Result<()>> Bench for BlockBench<F> {
    fn block(&self) -> &str {
        self.block
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> crate::Result<()> {
        (self.work)(sim, run)
    }
}

/// A function in a block's file that makes its testbench for the given parameters.
pub type MakeBench<B> = fn(&B) -> anyhow::Result<Box<dyn Bench>>;

/// A fixed piece of work for a complete accelerator, for comparing parameters. The golden recurrence gives its cycles.
#[derive(Debug)]
pub struct Work<B> {
    /// Names of the numbers.
    pub columns: &'static [&'static str],
    /// The numbers. An error says why the work does not fit.
    pub cycles: fn(&B) -> anyhow::Result<Vec<f64>>,
}

/// How tests run a bench: with `vectors` vectors, and the seed of the run of tests ([`seeds::seed`]).
#[must_use]
pub fn options(vectors: u64) -> RunOptions {
    RunOptions { seed: seeds::seed(1), vectors, ..RunOptions::default() }
}

/// Runs the bench of one set of parameters.
///
/// # Errors
/// The block or its bench refuses the parameters; or an error of [`run`](crate::run()).
pub fn run<B: CatalogBlock>(block: &B, make: MakeBench<B>, options: &RunOptions) -> anyhow::Result<RunReport> {
    let design = Design::from(&hdl::lang::elaborate(block)?);
    Ok(crate::run(&*make(block)?, &design, options)?)
}

/// Configurations besides the default that an ordinary run takes. Each is a model of its own.
const SOME: usize = 1;

/// Runs the bench on the default and on configurations of the block, in a full run all of them ([`seeds::some`]).
/// Returns the reports in that order.
///
/// # Errors
/// The first failure.
pub fn run_all<B: CatalogBlock>(make: MakeBench<B>, options: &RunOptions) -> anyhow::Result<Vec<RunReport>> {
    let configurations = B::configurations();
    let some = seeds::some(&configurations, SOME);
    std::iter::once(&B::default()).chain(some).map(|block| run(block, make, options)).collect()
}

/// Runs `count` of a large block's configurations, all of them in a full run ([`seeds::some`]).
///
/// # Errors
/// The errors of [`run`].
pub fn run_some<B: CatalogBlock>(
    count: usize,
    make: MakeBench<B>,
    options: &RunOptions,
) -> anyhow::Result<Vec<RunReport>> {
    seeds::some(&B::configurations(), count).into_iter().map(|block| run(block, make, options)).collect()
}
