//! The table of docs/blocks/tender.md: cycles of implicit and explicit requantization on the real model's projections.
//!
//! `cargo run --release -p testbenches --example tender_requantization`

use hdl::blocks::tender::{Drain, MultiScaleArray};
use testbenches::tender::real::projection;
use testbenches::tender::requantization::measure;

fn main() -> anyhow::Result<()> {
    println!(
        "| array | drain | projection | G | passes | one scale | implicit | explicit | implicit / base | explicit / base |"
    );
    println!("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (size, drain, name) in [
        (16, Drain::Double, "14 q"),
        (16, Drain::Single, "14 q"),
        (32, Drain::Double, "14 q"),
        (32, Drain::Single, "14 q"),
        (32, Drain::Double, "14 down"),
        (32, Drain::Single, "14 down"),
    ] {
        let p = MultiScaleArray { rows: size, columns: size, int8: false, drain, ..MultiScaleArray::default() };
        let projection = projection(name)?;
        for groups in [4, 8, 16] {
            let cycles = measure(&p, &projection, groups)?;
            let ratio = |n: u64| n as f64 / cycles.base as f64;
            println!(
                "| {size} x {size} | {} | {name} | {groups} | {} | {} | {} | {} | {:.3} | {:.3} |",
                if drain == Drain::Double { "double" } else { "single" },
                cycles.passes,
                cycles.base,
                cycles.implicit,
                cycles.explicit,
                ratio(cycles.implicit),
                ratio(cycles.explicit),
            );
        }
    }
    Ok(())
}
