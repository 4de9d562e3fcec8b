//! The blocks of KLLM, a file each.

mod clustering_unit;
mod concat_unit;
mod fp16_mac;
mod index_distribution_counter;
mod index_matmul_column;
mod orizuru;
mod orizuru_unit;
mod real;
mod weighted_sum;

use hdl::lang::{Block, CatalogBlock, elaborate};
use sim::{Bench, Design, RunOptions, RunReport};
use testbenches::{MakeBench, options, run};

fn configurations<B: CatalogBlock>(make: MakeBench<B>, number: u64) {
    for block in B::configurations() {
        run(&block, make, &options(number)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Runs a bench that was made with data of its own.
fn run_with<B: Block>(block: &B, bench: anyhow::Result<Box<dyn Bench>>, number: u64) -> anyhow::Result<RunReport> {
    Ok(sim::run(&*bench?, &Design::from(&elaborate(block)?), &options(number))?)
}

/// Demands that the bench notices the first `most` of the faults: each is a model to build.
fn each<B: CatalogBlock>(block: &B, make: MakeBench<B>, number: u64, faults: &[(&str, &str, &str)], most: usize) {
    let whole = Design::from(&elaborate(block).unwrap_or_else(|e| panic!("{e}")));
    let bench = make(block).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in faults.iter().take(most) {
        let mut design = whole.clone();
        let mut changed = 0;
        for file in &mut design.files {
            changed += file.text.matches(right).count();
            file.text = file.text.replace(right, wrong);
        }
        assert!(changed > 0, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let options = RunOptions { waves: Some(waves.path().into()), vectors: number, ..RunOptions::default() };
        let error = sim::run(&*bench, &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}
