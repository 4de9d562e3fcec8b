//! `coverage`: how much of a block's Verilog does its bench reach?

use serde_json::{Value, json};
use sim::Coverage;

use super::target::Target;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::params::show;
use crate::present::progress::Progress;
use crate::present::report;
use crate::{coverage, mutation};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Number of test vectors [default: as many as take a moment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    vectors: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let (entry, params) = args.target.resolve(catalogue)?;
    let (params, design) = mutation::resolved(&*entry, params, args.target.params.is_default())?;
    let progress = Progress::new(1, format!("coverage of {}", design.top));
    let measured = coverage::measure(&*entry, &params, &design, args.vectors);
    drop(progress);
    let (vectors, found) = measured?;
    let block = entry.about().name;
    if args.json {
        return report::json(
            &json!({ "block": block, "parameters": params, "vectors": vectors, "coverage": as_json(&found) }),
        );
    }
    let mut text = vec![block.to_owned(), format!("  parameters  {}", show(&params))];
    text.push(format!("  vectors     {vectors}"));
    text.extend(lines(&found));
    report::print(&(text.join("\n") + "\n"))
}

/// How many points are named; JSON names all of them.
const NAMED: usize = 20;

/// The shares, and some of the points that were missed.
pub(super) fn lines(found: &Coverage) -> Vec<String> {
    let missed = found.missed();
    let shares =
        format!("  coverage    lines {:.1} %, toggles {:.1} %", found.line().percent(), found.toggle().percent());
    let mut lines = vec![shares];
    lines.extend(missed.iter().take(NAMED).map(|point| format!("              missed {point}")));
    if missed.len() > NAMED {
        lines.push(format!("              and {} more: see --json", missed.len() - NAMED));
    }
    lines
}

pub(super) fn as_json(found: &Coverage) -> Value {
    json!({
        "line_percent": found.line().percent(), "toggle_percent": found.toggle().percent(), "missed": found.missed(),
    })
}
