//! Compares the engines: how long a model takes to build from nothing, and how many cycles a second the block's bench
//! simulates.
//!
//! `cargo run --release -p senbazuru --example engines -- BLOCK [VECTORS] [PARAMETER=VALUE ..]`

use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use senbazuru::params::ParamArgs;
use sim::{BuildOptions, Cache, Design, Dir, Engine, Model, RunOptions, Sim};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let name = words.first().context("usage: engines BLOCK [VECTORS] [PARAMETER=VALUE ..]")?;
    let vectors: u64 = words.get(1).map_or(Ok(1000), |n| n.parse())?;
    let entry = senbazuru::Catalogue::standard().find(name).cloned().map_err(|e| anyhow!("{e}"))?;
    let set: Vec<String> = words.iter().skip(2).cloned().collect();
    let params = ParamArgs { set, ..ParamArgs::default() }.resolve(entry.as_ref()).map_err(|e| anyhow!("{e}"))?;
    let elaborated = entry.elaborate(&params).map_err(|e| anyhow!("{e}"))?;
    let start = Instant::now();
    let text = elaborated.native().map_err(|e| anyhow!("{e}"))?;
    println!(
        "C: {} bytes in {:.0} ms",
        text.iter().map(|f| f.text.len()).sum::<usize>(),
        start.elapsed().as_secs_f64() * 1e3
    );
    let design = Design::from(&elaborated);
    let bench = entry.bench(&params).map_err(|e| anyhow!("{e}"))?;
    for engine in [Engine::Native, Engine::Verilator] {
        let folder = tempfile::tempdir()?;
        let build =
            BuildOptions { engine: Some(engine), cache: Cache::At(folder.path().into()), ..BuildOptions::default() };
        let start = Instant::now();
        Model::build(&design, &build)?;
        let built = start.elapsed().as_secs_f64();
        let mut best = f64::MAX;
        let mut cycles = 0;
        for _ in 0..3 {
            let options = RunOptions { vectors, build: build.clone(), ..RunOptions::default() };
            let report = sim::run(bench.as_ref(), &design, &options)?;
            best = best.min(report.seconds);
            cycles = report.cycles;
        }
        println!("{engine:?}: built in {built:.2} s, {cycles} cycles, {:.0} cycles/s", cycles as f64 / best);
        let mut sim = Model::build(&design, &build)?.instance()?;
        if design.reset.is_some() {
            sim.reset(2)?;
        }
        // For a design without a clock, changes of its inputs are counted.
        if design.clock.is_some() {
            let start = Instant::now();
            sim.cycles(cycles)?;
            println!("  standing still {:.0} cycles/s", cycles as f64 / start.elapsed().as_secs_f64());
        }
        println!("  random inputs {:.0} a second", random(&mut sim, &design)?);
    }
    Ok(())
}

/// New random values at all inputs in every cycle keep everything active.
fn random(sim: &mut Sim, design: &Design) -> Result<f64> {
    let fixed: Vec<&String> = design.clock.iter().chain(&design.reset).collect();
    let inputs = sim.ports().iter().filter(|p| p.dir == Dir::Input && !fixed.contains(&&p.name));
    let inputs =
        inputs.map(|p| Ok((sim.input(&p.name)?, p.width.div_ceil(64) as usize))).collect::<Result<Vec<_>>>()?;
    let mut x = 88_172_645_463_325_252_u64;
    let mut draw = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    let streams: Vec<Vec<Vec<u64>>> =
        (0..61).map(|_| inputs.iter().map(|(_, words)| (0..*words).map(|_| draw()).collect()).collect()).collect();
    let (mut cycles, start) = (0, Instant::now());
    while start.elapsed().as_secs_f64() < 1.0 {
        for values in &streams {
            for ((input, _), words) in inputs.iter().zip(values) {
                sim.poke_u64s(*input, words);
            }
            sim.settle()?;
            if design.clock.is_some() {
                sim.tick()?;
            }
            cycles += 1;
        }
    }
    Ok(f64::from(cycles) / start.elapsed().as_secs_f64())
}
