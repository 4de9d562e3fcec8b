//! `list`: all blocks, by family.

use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print a Markdown table
    #[arg(long)]
    markdown: bool,
    /// Print each block in one line, however long
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    long: bool,
}

#[derive(Serialize)]
struct Line {
    block: &'static str,
    family: &'static str,
    summary: &'static str,
    reference: &'static str,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let lines: Vec<_> = catalogue
        .all()
        .iter()
        .map(|e| (e.family(), e.about()))
        .map(|(family, a)| Line { block: a.name, family, summary: a.summary, reference: a.reference })
        .collect();
    if args.json {
        return report::json(&lines);
    }
    let mut table = Table::new(["family", "block", "what it is", "reference"]);
    for l in &lines {
        let cells = if args.markdown { format!("`{}`", l.block) } else { l.block.into() };
        table.row([l.family.into(), cells, l.summary.into(), l.reference.into()]);
    }
    report::print(&match (args.markdown, args.long) {
        (true, _) => table.markdown(),
        (_, true) => table.text_within(usize::MAX),
        _ => report::table_to_read(&table),
    })
}
