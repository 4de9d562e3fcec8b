//! The table of docs/blocks/tender.md: cycles of implicit and explicit requantization on the real model's projections.
//! They are measured with 16 x 16 PEs, where they must equal the formula. With 64 x 64 PEs, the formula gives them.
//!
//! `cargo run --release -p senbazuru-testbenches --example tender_requantization`; `--facts FILE` writes the largest ratios as JSON.

use hdl::blocks::tender::{Drain, MultiScaleArray, TenderPe};
use models::tender::projection::projection;
use models::tender::requantization::Passes;
use sim::facts::Facts;
use testbenches::tender::product::{Product, predicted};

fn main() -> anyhow::Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    println!(
        "| array | drain | projection | G | passes | one scale | implicit | explicit | implicit / base | explicit / base |"
    );
    println!("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (size, drain) in [(16, Drain::Double), (16, Drain::Single), (64, Drain::Double), (64, Drain::Single)] {
        let kind = if drain == Drain::Double { "double" } else { "single" };
        let mut most = [0f64; 2];
        let pe = TenderPe { drain, ..TenderPe::default() };
        let p = MultiScaleArray { rows: size, columns: size, pe, ..MultiScaleArray::default() };
        for name in ["14 q", "28 down"] {
            let projection = projection(name)?;
            for groups in [4, 8, 16] {
                // 64 tokens and 64 outputs are 16 tiles of 16 x 16.
                let passes = Passes::new(&projection, groups)?;
                let cycles = passes.ways().map(|way| predicted(&p, way, 16));
                if size == 16 {
                    let product = Product { rows: &passes.rows, weights: &passes.weights, int8: false };
                    let measured = product.measured(&p, passes.ways())?;
                    anyhow::ensure!(measured == cycles, "the formula gives {cycles:?}, the array took {measured:?}");
                }
                let [base, implicit, explicit] = cycles;
                let ratio = |n: u64| n as f64 / base as f64;
                println!(
                    "| {size} x {size} | {} | {name} | {groups} | {} | {} | {} | {} | {:.3} | {:.2} |",
                    kind,
                    passes.explicit.len(),
                    base,
                    implicit,
                    explicit,
                    ratio(implicit),
                    ratio(explicit),
                );
                most = [most[0].max(ratio(implicit)), most[1].max(ratio(explicit))];
            }
        }
        facts.add(&format!("most implicit {size} {kind}"), most[0]);
        facts.add(&format!("most explicit {size} {kind}"), most[1]);
    }
    Ok(facts.write()?)
}
