//! `mutate`: which small faults of a block its bench notices.

use std::time::Duration;

use serde_json::{Value, json};
use sim::mutate::{Limits, Outcome, Report, Sample, Tested};

use super::target::Target;
use crate::catalogue::{Catalogue, Params};
use crate::error::{Failure, Result};
use crate::mutation;
use crate::params::show;
use crate::present::progress::Progress;
use crate::present::report;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Number of mutants to test, drawn at random, or `all` mutants of the design
    #[arg(long, value_name = "N|all", default_value = "200", value_parser = count)]
    count: usize,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of test vectors of a run [default: as many as run in a moment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    vectors: Option<u64>,
    /// Skip the proof that a survivor is equivalent: equivalent mutants count as not noticed
    #[arg(long)]
    no_proofs: bool,
    /// Seconds for each attempt of a proof
    #[arg(long, value_name = "S", default_value_t = 10, conflicts_with = "no_proofs",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    proof_time: u64,
    /// Fail when the bench notices a smaller share, for example 0.99
    #[arg(long, value_name = "SHARE", value_parser = share)]
    floor: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn count(text: &str) -> Result<usize, String> {
    if text == "all" {
        return Ok(usize::MAX);
    }
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| "a number from 1 on, or `all`".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "a number from 0 to 1".to_owned())
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let (entry, params) = args.target.resolve(catalogue)?;
    let (params, design) = mutation::resolved(&*entry, params, args.target.params.is_default())?;
    let progress = Progress::new(1, format!("mutants of {}", design.top));
    let sample = Sample { count: args.count, seed: args.seed };
    let time = Duration::from_secs(args.proof_time);
    let proof = (!args.no_proofs).then(|| Limits { time, ..Limits::default() });
    let tested = mutation::test(catalogue, &*entry, &params, &design, sample, args.vectors, proof);
    drop(progress);
    let (vectors, found) = tested?;
    if args.json {
        report::json(&as_json(&params, vectors, &found))?;
    } else {
        report::print(&text(&params, vectors, &found))?;
    }
    match args.floor {
        Some(floor) if found.share() < floor => {
            let (share, floor) = (100.0 * found.share(), 100.0 * floor);
            Err(Failure::Check(format!("{share:.1} % of the mutants are noticed, less than {floor:.1} %")))
        }
        _ => Ok(()),
    }
}

fn text(params: &Params, vectors: u64, found: &Report) -> String {
    let in_parts = match found.killed_in_parts() {
        0 => String::new(),
        count => format!(", {count} by the bench of the block that they are in"),
    };
    let mut lines = vec![
        format!("{}: {:.1} % of the mutants that can be noticed are", found.block, 100.0 * found.share()),
        format!("  parameters  {}", show(params)),
        format!("  mutants     {} of {}", found.tested.len(), found.available),
        format!("  noticed     {}, {} of them by a run that did not end{in_parts}", found.killed(), found.hung()),
        format!("  equivalent  {}", found.equivalent()),
        format!("  survived    {}, and {} without answer", found.survivors().count(), found.unanswered()),
        format!("  a run       {vectors} vectors, {} cycles", found.cycles),
        format!("  time        {:.1} s of runs, {:.1} s of proofs", found.run_seconds, found.proof_seconds),
    ];
    for Tested { mutation, outcome } in &found.tested {
        match outcome {
            Outcome::Killed(sim::Kill::Panic(why)) => lines.push(format!("the bench panicked ({why}): {mutation}")),
            Outcome::KilledInPart(block) => lines.push(format!("noticed by the bench of {block}: {mutation}")),
            Outcome::Killed(_) | Outcome::Equivalent => {}
            Outcome::Survived { differs_in: Some(cycle) } => {
                lines.push(format!("differs in cycle {cycle}: {mutation}"))
            }
            Outcome::Survived { differs_in: None } => lines.push(format!("undecided: {mutation}")),
            Outcome::NoAnswer(why) => lines.push(format!("no answer ({why}): {mutation}")),
        }
    }
    lines.join("\n") + "\n"
}

fn as_json(params: &Params, vectors: u64, found: &Report) -> Value {
    let alive = found.tested.iter().filter_map(|tested| {
        let (what, why) = match &tested.outcome {
            Outcome::Survived { differs_in } => ("survived", json!(differs_in)),
            Outcome::NoAnswer(why) => ("no answer", json!(why)),
            Outcome::Killed(_) | Outcome::KilledInPart(_) | Outcome::Equivalent => return None,
        };
        Some(json!({ "mutation": tested.mutation.to_string(), "outcome": what, "because": why }))
    });
    json!({
        "block": found.block, "parameters": params, "share": found.share(), "mutants": found.tested.len(),
        "available": found.available, "noticed": found.killed(), "hung": found.hung(),
        "noticed_by_a_part": found.killed_in_parts(), "equivalent": found.equivalent(),
        "survived": found.survivors().count(), "unanswered": found.unanswered(), "vectors": vectors, "cycles": found.cycles,
        "not_noticed": alive.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(count("all"), Ok(usize::MAX));
        assert_eq!(count("7"), Ok(7));
        assert!(count("0").is_err() && count("-1").is_err() && count("some").is_err());
        assert_eq!(share("0.99"), Ok(0.99));
        assert!(share("1.1").is_err() && share("NaN").is_err());
    }
}
