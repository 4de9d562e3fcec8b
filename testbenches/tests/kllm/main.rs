//! The blocks of KLLM, a file each.

mod clustering_unit;
mod concat_unit;
mod fp16_mac;
mod index_distribution_counter;
mod index_matmul_column;
mod orizuru;
mod orizuru_unit;
mod pe_lane;
mod real;
mod scaling_unit;
mod weighted_sum;

use hdl::lang::{Block, CatalogBlock, elaborate};
use sim::kit::{MakeBench, options, run};
use sim::{Bench, Design, RunReport};

/// Registered configurations, in a full run all of them.
fn configurations<B: CatalogBlock>(make: MakeBench<B>, number: u64) {
    for block in seeds::some(&B::configurations(), 2) {
        run(block, make, &options(number)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Runs a bench that was made with data of its own.
fn run_with<B: Block>(block: &B, bench: anyhow::Result<Box<dyn Bench>>, number: u64) -> anyhow::Result<RunReport> {
    Ok(sim::run(&*bench?, &Design::from(&elaborate(block)?), &options(number))?)
}
