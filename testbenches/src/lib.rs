//! Testbenches: how each block is driven and compared with its golden model.
//!
//! One file per block, `<paper>/<block>.rs`, with a function `bench` that the registry of the command line names too.
//! A bench knows the block's parameters and ports and the golden model; how models are built, traced and reported is
//! the business of [`sim`].

use hdl::lang::{Block, CatalogBlock};
use serde_json::Value;
use sim::{Bench, Design, Run, RunOptions, RunReport, Sim};

pub mod baselines;
pub mod common;
pub mod faults;
pub mod kelle;
pub mod kllm;
pub mod systems;
pub mod tender;
pub mod titanus;

/// Changes whenever a testbench, a golden model or the simulator does.
pub const SOURCE_HASH: &str = env!("SENBAZURU_SOURCE_HASH");

/// The testbench of a block with parameters `p`: `work` drives one instance and compares it with the golden model. It
/// must be a function of the run's seed alone.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench<'a, B: Block>(
    p: &B,
    work: impl Fn(&mut Sim, &mut Run) -> sim::Result<()> + 'a,
) -> anyhow::Result<Box<dyn Bench + 'a>> {
    p.check()?;
    Ok(Box::new(BlockBench { block: B::ABOUT.name, parameters: p.values(), work }))
}

struct BlockBench<F> {
    block: &'static str,
    parameters: Value,
    work: F,
}

impl<F: Fn(&mut Sim, &mut Run) -> sim::Result<()>> Bench for BlockBench<F> {
    fn block(&self) -> &str {
        self.block
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        (self.work)(sim, run)
    }
}

/// What a block's file offers: its testbench for the given parameters.
pub type MakeBench<B> = fn(&B) -> anyhow::Result<Box<dyn Bench>>;

/// A fixed piece of work for a complete accelerator, of which the golden recurrence says what it takes: for comparing parameters.
#[derive(Debug)]
pub struct Work<B> {
    /// Names of the numbers.
    pub columns: &'static [&'static str],
    /// The numbers. Errors say why the work does not fit.
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
/// Parameters that the block or its bench refuses, whatever [`sim::run`] returns.
pub fn run<B: CatalogBlock>(block: &B, make: MakeBench<B>, options: &RunOptions) -> anyhow::Result<RunReport> {
    let design = Design::from(&hdl::lang::elaborate(block)?);
    Ok(sim::run(&*make(block)?, &design, options)?)
}

/// Configurations beside the default that an ordinary run takes: each is a model of its own.
const SOME: usize = 1;

/// Runs the bench on the default and on configurations of the block, in a full run all of them ([`seeds::some`]); returns the
/// reports in that order.
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
/// Those of [`run`].
pub fn run_some<B: CatalogBlock>(
    count: usize,
    make: MakeBench<B>,
    options: &RunOptions,
) -> anyhow::Result<Vec<RunReport>> {
    seeds::some(&B::configurations(), count).into_iter().map(|block| run(block, make, options)).collect()
}
