//! Co-simulation speed of Orizuru beside a hand-written C++ loop over the same Verilog, compiled with the same flags.
//!
//! `cargo run --release -p senbazuru-testbenches --example orizuru_speed -- [N] [CYCLES]` (default 256 and 40000).

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hdl::blocks::kllm::Orizuru;
use sim::process::Tool;
use sim::{BuildOptions, Design, Model};

/// Alternating runs; the best of each counts: other load on the machine disturbs both alike.
const ROUNDS: u32 = 9;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let n: u32 = args.next().map_or(Ok(256), |a| a.parse())?;
    let cycles: u64 = args.next().map_or(Ok(40_000), |a| a.parse())?;
    let block = Orizuru { n, k_max: 8, k_min: 8, ..Orizuru::default() };
    let design = Design::from(&hdl::lang::elaborate(&block)?);
    let model = Model::build(&design, &BuildOptions::default())?;
    let folder = tempfile::tempdir()?;
    let harness = build_harness(folder.path(), &design)?;
    let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        let (speed, sum) = drive(&model, cycles)?;
        let line = Tool::new(&harness).args([cycles.to_string()]).run()?.stdout;
        let (other, check) = line.trim().split_once(' ').context("the harness printed nothing")?;
        ensure!(check == sum.to_string(), "results differ: {sum} here, harness: {line}");
        (ours, theirs) = (ours.max(speed), theirs.max(other.parse()?));
    }
    println!("orizuru, N = {n}: {ours:.0} cycles/s; C++ harness {theirs:.0}; ratio {:.3}", ours / theirs);
    Ok(())
}

/// New random values in every cycle; everything that comes is taken and summed.
fn drive(model: &Model, cycles: u64) -> sim::Result<(f64, u32)> {
    let mut sim = model.instance()?;
    let data = sim.input("load_data_i")?;
    let (valid, value) = (sim.output("max_valid_o")?, sim.output("max_value_o")?);
    for (port, level) in
        [("clear_i", 0), ("load_valid_i", 1), ("max_ready_i", 1), ("min_ready_i", 1), ("k_max_i", 8), ("k_min_i", 8)]
    {
        let port = sim.input(port)?;
        sim.poke_u64(port, level);
    }
    sim.reset(1)?;
    let mut words = [0_u32; 8];
    let (mut x, mut sum) = (88_172_645_463_325_252_u64, 0_u32);
    let start = Instant::now();
    for _ in 0..cycles {
        for word in &mut words {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            *word = x as u32;
        }
        sim.poke_words(data, &words);
        sim.settle()?;
        if sim.peek_u64(valid) == 1 {
            sum = sum.wrapping_mul(31).wrapping_add(sim.peek_u64(value) as u32);
        }
        sim.tick()?;
    }
    Ok((cycles as f64 / start.elapsed().as_secs_f64(), sum))
}

fn build_harness(folder: &Path, design: &Design) -> Result<String> {
    for file in &design.files {
        std::fs::write(folder.join(&file.name), &file.text)?;
    }
    std::fs::write(folder.join("main.cpp"), HARNESS)?;
    // The options of `sim`'s models, so that both run the same code; like there, warnings are the business of `lint`.
    let output = Tool::new("verilator")
        .args([
            "--cc",
            "--exe",
            "--build",
            "-O3",
            "-fno-const-bit-op-tree",
            "--x-assign",
            "unique",
            "--x-initial",
            "unique",
            "--no-timing",
        ])
        .args(["--assert", "-Wno-fatal", "--prefix", "Vmodel", "--top-module", &design.top])
        .args(["-CFLAGS", "-O1", "-MAKEFLAGS", "OPT_FAST=-O1"])
        .args(design.files.iter().map(|f| f.name.as_str()))
        .args(["main.cpp", "-o", "harness"])
        .dir(folder)
        .run()?;
    ensure!(output.success(), "{}", output.log());
    Ok(folder.join("obj_dir/harness").to_string_lossy().into_owned())
}

const HARNESS: &str = r#"
#include "Vmodel.h"
#include "verilated.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
int main(int, char** argv) {
    const unsigned long cycles = atol(argv[1]);
    VerilatedContext context;
    Vmodel m{&context};
    m.clear_i = 0; m.load_valid_i = 1; m.max_ready_i = 1; m.min_ready_i = 1; m.k_max_i = 8; m.k_min_i = 8;
    m.rst_ni = 1; m.clk_i = 0; m.eval();
    m.rst_ni = 0; m.eval(); m.clk_i = 1; m.eval();
    m.rst_ni = 1;
    uint64_t x = 88172645463325252ull;
    uint32_t sum = 0;
    const auto start = std::chrono::steady_clock::now();
    for (unsigned long i = 0; i < cycles; ++i) {
        for (int k = 0; k < 8; ++k) {
            x ^= x << 13; x ^= x >> 7; x ^= x << 17;
            m.load_data_i[k] = static_cast<uint32_t>(x);
        }
        m.clk_i = 0; m.eval();
        if (m.max_valid_o) sum = sum * 31 + m.max_value_o;
        m.clk_i = 1; m.eval();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%.0f %u\n", cycles / seconds, sum);
}
"#;
