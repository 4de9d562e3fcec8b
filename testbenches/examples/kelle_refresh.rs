//! Refreshes and stalls of the refresh controller at the paper's intervals, and what two-dimensional refresh saves.
//!
//! `cargo run --release -p testbenches --example kelle_refresh`

use anyhow::Result;
use golden::kelle::refresh::Intervals;
use testbenches::kelle::decode::{RECORDED, Trace};
use testbenches::kelle::refresh_runs::{PAPER, bursts, controller, decoded, decoded_by_hardware, quiet, uniform};

const CYCLES: u64 = 15_000_000;

fn main() -> Result<()> {
    println!(
        "15 ms at 1 GHz; half of the rows high. Fewest and most: one refresh per interval + slack, per interval.\n"
    );
    println!(
        "| banks | rows | slack, cycles | fewest | most | without traffic | in bursts of all rows, half the time | stalls |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for rows in [128, 512, 2048] {
        for (name, intervals) in PAPER {
            let slack = controller(rows).slack();
            let Intervals { high, low } = intervals;
            let times = |more: u64| u64::from(rows / 2) * (CYCLES / (high + more) + CYCLES / (low + more));
            let (idle, busy) = (quiet(rows, intervals, CYCLES)?, bursts(rows, intervals, CYCLES)?);
            println!(
                "| {name} | {rows} | {slack} | {} | {} | {} | {} | {} |",
                times(slack),
                times(0),
                idle.refreshes,
                busy.refreshes,
                busy.stalls
            );
        }
    }
    const TOKENS: usize = 64;
    for threshold in [8, 2] {
        savings(TOKENS, threshold)?;
    }
    println!("\nThe last 8 of these steps on the hardware, layer 14, head 0, high from 8 on.\n");
    println!("| banks | refreshes, ideal | hardware | stalls |\n| --- | ---: | ---: | ---: |");
    let trace = Trace::read(14, 0)?;
    for (name, intervals) in PAPER {
        let ideal = decoded(&trace, TOKENS, 8, 8, intervals)?.refreshes;
        let got = decoded_by_hardware(&trace, TOKENS, 8, 8, intervals)?;
        println!("| {name} | {ideal} | {} | {} |", got.refreshes, got.stalls);
    }
    Ok(())
}

/// What two classes save against one interval for all.
fn savings(tokens: usize, threshold: i64) -> Result<()> {
    println!("\nDecoding 256 steps of 2.1 ms with N' = {tokens}, 4-bit scores, high from {threshold} on.\n");
    println!(
        "| layer.head | high rows | uniform 45 us | uniform 0.36 ms | 2DRP | saved against 45 us | against 0.36 ms |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (layer, head) in RECORDED {
        let trace = Trace::read(layer, head)?;
        let count = |intervals| decoded(&trace, tokens, threshold, 256, intervals);
        // Both bytes of each element.
        let (org, uni) = (2 * count(uniform(45_000))?.refreshes, 2 * count(uniform(360_000))?.refreshes);
        let [msb, lsb] = PAPER.map(|(_, intervals)| count(intervals));
        let (msb, lsb) = (msb?, lsb?);
        let both = msb.refreshes + lsb.refreshes;
        let ratio = |n: u64| n as f64 / both as f64;
        let (high, org_saved, uni_saved) = (100.0 * msb.high, ratio(org), ratio(uni));
        println!("| {layer}.{head} | {high:.0}% | {org} | {uni} | {both} | {org_saved:.1}x | {uni_saved:.2}x |");
    }
    Ok(())
}
