//! Orizuru on the activations of a real decoder: co-simulates it token by token against the golden model and shows the
//! outliers that it found. Used by `scripts/demo`.

use anyhow::{Context, Result};
use golden::kllm::orizuru::{comparison_bound, outliers_per_side};
use hdl::blocks::kllm::{Orizuru, TreeStyle};
use sim::stimulus::real_rows;
use sim::{Design, RunOptions};
use testbenches::kllm::orizuru::{bench_of, golden};

/// Tokens that are simulated.
const TOKENS: usize = 24;

fn main() -> Result<()> {
    let width = real_rows("l14_down_in")?.first().context("the tensor has no rows")?.len();
    // KLLM keeps the 0.5 % largest and the 0.5 % smallest values of a token in fp16.
    let k = outliers_per_side(width, 5)?;
    let tree = TreeStyle { count_comparisons: true, ..TreeStyle::default() };
    let block = Orizuru { n: width as u32, k_max: k as u32, k_min: k as u32, tree, ..Orizuru::default() };
    let design = Design::from(&hdl::lang::elaborate(&block)?);
    println!("input of the down projection, {width} wide, fp16; {k} largest and {k} smallest values a token");
    println!("{TOKENS} tokens a layer; every index, value, mask and comparison count equals the golden model's\n");
    println!("layer  token  largest                smallest               outlier/median  comparisons   bound");
    for layer in [2, 14, 28] {
        let rows: Vec<_> = real_rows(&format!("l{layer:02}_down_in"))?.into_iter().take(TOKENS).collect();
        let bench = bench_of(&block, rows.clone())?;
        let options = RunOptions { vectors: rows.len() as u64, ..RunOptions::default() };
        let report = sim::run(&*bench, &design, &options)?;
        for (token, row) in rows.iter().enumerate().step_by(TOKENS / 3) {
            show(&block, layer, token, row, k)?;
        }
        println!(
            "       {} values compared in {} cycles ({:.0} cycles a token)\n",
            report.compared,
            report.cycles,
            report.cycles as f64 / rows.len() as f64
        );
    }
    let (beats, init, pop) = (block.beats(), block.init_cycles(), block.pop_cycles());
    println!(
        "without pauses: {beats} beats to load, {init} more cycles to the first pop, then one pop a side every {pop} cycles"
    );
    Ok(())
}

fn show(block: &Orizuru, layer: u32, token: usize, row: &[u64], k: usize) -> Result<()> {
    let golden = golden(block, row, (k, k))?;
    let value = |index: usize| f64::from(half::f16::from_bits(row[index] as u16));
    let mut magnitudes: Vec<f64> = (0..row.len()).map(|i| value(i).abs()).collect();
    magnitudes.sort_by(f64::total_cmp);
    let place = |beats: &[golden::kllm::orizuru::Beat]| {
        beats.first().map_or(String::new(), |b| format!("[{:4}] {:<12}", b.pop.index, value(b.pop.index)))
    };
    let median = magnitudes[row.len() / 2].max(f64::MIN_POSITIVE);
    let comparisons = golden.comparisons_after(golden.max.len(), golden.min.len()).unwrap_or(0);
    println!(
        "{layer:>5}  {token:>5}  {:<21}  {:<21}  {:>14.0}  {comparisons:>11}  {:>6}",
        place(&golden.max),
        place(&golden.min),
        magnitudes[row.len() - 1] / median,
        comparison_bound(row.len(), k, k)
    );
    Ok(())
}
