//! Time and size of generation: `cargo bench -p senbazuru-rust-hdl --bench elaborate`.
//!
//! Our mesh against the same mesh in rust-hdl 0.46 (see `tests/support/mesh.rs`), 16-bit operands and 32-bit
//! accumulators. Each time is the fastest of several runs, since other load on the machine only adds to it; compare the
//! figures of one run with each other only. Takes about a minute, nearly all of it in rust-hdl.

use std::time::{Duration, Instant};

use hdl::blocks::common::MacMesh;
use rust_hdl::prelude::Block;

#[path = "../tests/support/mesh.rs"]
mod mesh;

struct Figure {
    time: Duration,
    bytes: usize,
    modules: usize,
}

fn main() {
    println!("{:<22} {:>12} {:>12} {:>9}", "mesh", "time", "bytes", "modules");
    let ours16 = show("ours, 16 x 16", ours(16));
    let ours64 = show("ours, 64 x 64", ours(64));
    show("ours, 256 x 256", ours(256));
    let theirs16 = show("rust-hdl, 16 x 16", theirs::<mesh::Mesh16>(5));
    let theirs64 = show("rust-hdl, 64 x 64", theirs::<mesh::Mesh64>(3));
    ratio("rust-hdl / ours, 16 x 16", &theirs16, &ours16);
    ratio("rust-hdl / ours, 64 x 64", &theirs64, &ours64);
}

fn ours(side: u32) -> Figure {
    let block = MacMesh { rows: side, columns: side, operand_width: 16, accumulator_width: 32 };
    measure(25, || {
        let design = hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}"));
        design.verilog().into_iter().map(|f| f.text).collect()
    })
}

fn theirs<M: Block + Default + 'static>(runs: usize) -> Figure {
    measure(runs, mesh::verilog::<M>)
}

fn measure(runs: usize, work: impl Fn() -> String) -> Figure {
    let mut time = Duration::MAX;
    let mut text = String::new();
    for _ in 0..runs {
        let start = Instant::now();
        text = work();
        time = time.min(start.elapsed());
    }
    let modules = text.lines().filter(|line| line.starts_with("module ")).count();
    Figure { time, bytes: text.len(), modules }
}

fn show(name: &str, figure: Figure) -> Figure {
    let time = format!("{:.2} ms", figure.time.as_secs_f64() * 1e3);
    println!("{name:<22} {time:>12} {:>12} {:>9}", figure.bytes, figure.modules);
    figure
}

fn ratio(name: &str, theirs: &Figure, ours: &Figure) {
    println!(
        "{name}: {:.0} x the time, {:.0} x the bytes, {:.0} x the modules",
        theirs.time.as_secs_f64() / ours.time.as_secs_f64(),
        theirs.bytes as f64 / ours.bytes as f64,
        theirs.modules as f64 / ours.modules as f64
    );
}
