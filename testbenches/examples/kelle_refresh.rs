//! Refreshes and stalls of the refresh controller at the paper's intervals, and the savings of two-dimensional refresh.
//!
//! `cargo run --release -p senbazuru-testbenches --example kelle_refresh`; `--facts FILE` writes the sums and ranges as JSON.

use anyhow::Result;
use golden::kelle::refresh_controller::Intervals;
use models::kelle::decode::{RECORDED, Trace};
use models::kelle::refresh::{PAPER, PERIOD, decoded, steps, uniform};
use sim::facts::Facts;
use testbenches::kelle::refresh_runs::{self, bursts, controller, quiet};

const CYCLES: u64 = 15_000_000;

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let (mut stalls, mut excess) = (0, 0f64);
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
            stalls += busy.stalls;
            excess = excess.max(busy.refreshes.max(idle.refreshes) as f64 / times(0) as f64);
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
    facts.add("stalls in bursts", stalls as f64);
    facts.add("most refreshes over one per interval", excess);
    const TOKENS: usize = 64;
    for threshold in [8, 2] {
        savings(TOKENS, threshold, &mut facts)?;
    }
    println!("\nThe last 8 of these steps on the hardware, layer 14, head 0, high from 8 on.\n");
    println!("| banks | refreshes, ideal | hardware | stalls |\n| --- | ---: | ---: | ---: |");
    let trace = Trace::read(14, 0)?;
    let steps = steps(&trace, TOKENS, 8, 8)?;
    for (name, intervals) in PAPER {
        let ideal = decoded(&trace, TOKENS, 8, 8, intervals)?.refreshes;
        let got = refresh_runs::decoded(TOKENS as u32, &steps, PERIOD, intervals)?;
        println!("| {name} | {ideal} | {} | {} |", got.refreshes, got.stalls);
        facts.add(&format!("decode {name} ideal"), ideal as f64);
        facts.add(&format!("decode {name} hardware"), got.refreshes as f64);
        facts.add(&format!("decode {name} stalls"), got.stalls as f64);
    }
    Ok(facts.write()?)
}

/// Savings of two classes against one interval for all.
fn savings(tokens: usize, threshold: i64, facts: &mut Facts) -> Result<()> {
    let mut range = [f64::MAX, 0.0];
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
        range = [range[0].min(org_saved), range[1].max(org_saved)];
    }
    facts.add(&format!("least saved against 45 us high from {threshold}"), range[0]);
    facts.add(&format!("most saved against 45 us high from {threshold}"), range[1]);
    Ok(())
}
