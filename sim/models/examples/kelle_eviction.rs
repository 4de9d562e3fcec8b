//! Attention-output error of small KV caches against a full one, on real queries, keys and values.
//!
//! `cargo run --release -p senbazuru-models --example kelle_eviction`; further numbers as `score_width,amount_width,shift`;
//! `--facts FILE` writes the means as JSON.

use anyhow::{Result, anyhow, bail};
use golden::kelle::decode::Numbers;
use models::kelle::decode::{Outcome, Policy, RECORDED, Trace, run};
use sim::facts::Facts;

fn main() -> Result<()> {
    let (mut facts, arguments) = Facts::from_args()?;
    let mut policies = vec![
        ("window", Policy::Window),
        ("first + window", Policy::SinkAndWindow),
        ("AERP, softmax", Policy::Softmax),
        ("AERP, q.k", Policy::Products),
        ("AERP, wide integers", Policy::Hardware(Numbers::WIDE)),
        ("AERP, 8 bits", Policy::Hardware(Numbers::EIGHT_BITS)),
        ("AERP, 4 bits", Policy::Hardware(Numbers::FOUR_BITS)),
    ];
    for text in arguments {
        let numbers: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [score_width, amount_width, shift] = numbers[..] else { bail!("three numbers, not {text}") };
        policies.push(("AERP, as given", Policy::Hardware(Numbers { score_width, amount_width, shift })));
    }
    let traces = RECORDED.map(|(layer, head)| Trace::read(layer, head));
    let traces = traces.into_iter().collect::<sim::Result<Vec<_>>>()?;
    let full: Vec<_> = traces.iter().map(Trace::full).collect();
    for tokens in [16, 32, 64, 128] {
        println!("\nN' = {tokens}: relative error of the attention's output (share of the attention kept)\n");
        print!("| policy |");
        traces.iter().for_each(|t| print!(" {}.{} |", t.layer, t.head));
        println!(" mean |\n| --- |{}", " ---: |".repeat(traces.len() + 1));
        for (name, policy) in &policies {
            let outcomes: Result<Vec<Outcome>, String> =
                (0..traces.len()).map(|t| run(&traces[t], &full[t], tokens, *policy)).collect();
            let outcomes = outcomes.map_err(|e| anyhow!(e))?;
            print!("| {name} |");
            outcomes.iter().for_each(|o| print!(" {:.2} ({:.0}%) |", o.error, 100.0 * o.kept_attention));
            let n = outcomes.len() as f64;
            let mean = |f: fn(&Outcome) -> f64| outcomes.iter().map(f).sum::<f64>() / n;
            let (error, kept) = (mean(|o| o.error), mean(|o| o.kept_attention));
            println!(" {error:.3} ({:.0}%) |", 100.0 * kept);
            facts.add(&format!("error {tokens} {name}"), error);
            facts.add(&format!("kept {tokens} {name}"), kept);
        }
    }
    Ok(facts.write()?)
}
