//! The tables of docs/blocks/titanus.md: CPQ and HQE on real keys and values. `--facts FILE` writes levels and means as JSON.

use anyhow::Result;
use golden::titanus::baseline::requantized_tokens;
use models::titanus::compression::{errors, levels, traffic};
use sim::facts::Facts;

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    // Only the lengths matter; the paper's saving at 1,024 tokens.
    facts.add("saved 1024 prefill 512", requantized_tokens(1024, 512) as f64 / 1024.0);
    println!("Levels a channel, 3 bits, no pruning\n");
    println!(
        "| context | prefill | levels, mean | most | opening tokens | decoded elements that open | saved | paper: levels |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let paper = [(32, "3.10"), (64, "4.41"), (128, "5.97"), (256, "7.74"), (384, "9.92 at 512")];
    let half = paper.map(|(n, _)| (n, n / 2));
    let short = paper.map(|(n, _)| (n, 8));
    for (n, row) in levels(3, &[half, short].concat())?.into_iter().enumerate() {
        let context = format!("{} prefill {}", row.context, row.prefill);
        facts.add(&format!("levels {context}"), row.levels);
        facts.add(&format!("saved {context}"), row.saved);
        println!(
            "| {} | {} | {:.2} | {} | {:.2} | {:.2} % | {:.2} x | {} |",
            row.context,
            row.prefill,
            row.levels,
            row.most,
            row.any_channel,
            100.0 * row.opened,
            row.saved,
            paper[n % 5].1
        );
    }
    println!("\nZeros and bytes, keys in 3 bits, values in 2, pruned to 33.8 % zeros\n");
    println!(
        "| layer | threshold | zeros before / after quantization / after dequantization | int8 bytes | pruned | CPQ | of these records | 64-byte blocks | saved: pruning / CPQ / blocks |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |");
    let rows = traffic(0.338, [3, 2])?;
    for r in &rows {
        let [p, c, b] = r.saved().map(|s| 100.0 * s);
        println!(
            "| {} {} | {} | {:.3} / {:.3} / {:.3} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {p:.1} / {c:.1} / {b:.1} % |",
            r.layer,
            r.side,
            r.threshold,
            r.zeros[0],
            r.zeros[1],
            r.zeros[2],
            r.plain,
            r.pruned,
            r.cpq,
            r.records,
            r.packed
        );
    }
    let mean = |pick: &dyn Fn(&models::titanus::compression::TrafficRow) -> f64| {
        rows.iter().map(pick).sum::<f64>() / rows.len() as f64
    };
    println!(
        "| mean | | {:.3} / {:.3} / {:.3} | | | | | | {:.1} / {:.1} / {:.1} % |",
        mean(&|r| r.zeros[0]),
        mean(&|r| r.zeros[1]),
        mean(&|r| r.zeros[2]),
        100.0 * mean(&|r| r.saved()[0]),
        100.0 * mean(&|r| r.saved()[1]),
        100.0 * mean(&|r| r.saved()[2])
    );
    for (i, what) in ["pruning", "quantization", "dequantization"].into_iter().enumerate() {
        facts.add(&format!("zeros after {what}"), mean(&|r| r.zeros[i]));
    }
    for (i, what) in ["pruning", "CPQ", "blocks"].into_iter().enumerate() {
        facts.add(&format!("bytes saved {what}"), mean(&|r| r.saved()[i]));
    }
    println!("\nThe dequantizer's elements, and ways to tell levels\n");
    println!("| layer | index 0 | label 0 | zero point | multiplied | level numbers, bytes | break points, bytes |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for r in &rows {
        let w = r.work;
        let share = |n: u64| 100.0 * n as f64 / r.plain;
        println!(
            "| {} {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.0} | {:.0} |",
            r.layer,
            r.side,
            share(w.index_skips),
            share(w.label_skips),
            share(w.zero_point_skips),
            share(w.multiplications),
            r.level_numbers,
            r.break_points
        );
    }
    println!("\nThresholds, mean over the six tensors, keys in 3 bits, values in 2\n");
    println!("| zeros asked for | thresholds | zeros before / after / after dequantization | saved: pruning / CPQ |");
    println!("| ---: | --- | --- | --- |");
    for share in [0.0, 0.1, 0.2, 0.338, 0.5, 0.7] {
        let rows = traffic(share, [3, 2])?;
        let mean = |pick: &dyn Fn(&models::titanus::compression::TrafficRow) -> f64| {
            rows.iter().map(pick).sum::<f64>() / rows.len() as f64
        };
        let thresholds: Vec<_> = rows.iter().map(|r| r.threshold.to_string()).collect();
        println!(
            "| {share:.3} | {} | {:.3} / {:.3} / {:.3} | {:.1} / {:.1} % |",
            thresholds.join(", "),
            mean(&|r| r.zeros[0]),
            mean(&|r| r.zeros[1]),
            mean(&|r| r.zeros[2]),
            100.0 * mean(&|r| r.saved()[0]),
            100.0 * mean(&|r| r.saved()[1])
        );
    }
    println!("\nError (root mean square, of that of the tensor) and bits an element, pruned to 33.8 % zeros\n");
    println!("| bits | way | error | bits an element | of these records |");
    println!("| ---: | --- | ---: | ---: | ---: |");
    for bits in [2, 3, 4, 8] {
        for r in errors(bits, 0.338)? {
            println!("| {bits} | {} | {:.4} | {:.3} | {:.3} |", r.way, r.error, r.bits, r.records);
        }
    }
    Ok(facts.write()?)
}
