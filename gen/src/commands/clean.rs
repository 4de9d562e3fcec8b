//! `clean`: what compiled models take, and less of it.

use serde_json::json;
use sim::{Cache, Held};

use crate::error::Result;
use crate::present::report;
use crate::present::table::Table;

const MIB: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep so many MiB of what was used last
    #[arg(long, value_name = "MIB", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    keep: u64,
    /// Show sizes, remove nothing
    #[arg(long, conflicts_with = "keep")]
    sizes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let cache = Cache::User;
    if args.sizes {
        return sizes(&cache, args.json);
    }
    let left = cache.shrink(args.keep * MIB)?;
    if args.json {
        let held = |held: Held| json!({ "builds": held.entries, "bytes": held.bytes });
        return report::json(&json!({ "removed": held(left.removed), "kept": held(left.kept) }));
    }
    let (gone, kept) = (left.removed, left.kept);
    let root = cache.root();
    report::print(&format!(
        "removed {} builds, {}; kept {}, {} in {}\n",
        gone.entries,
        size(gone.bytes),
        kept.entries,
        size(kept.bytes),
        root.display()
    ))
}

fn sizes(cache: &Cache, json: bool) -> Result<()> {
    let held = cache.held()?;
    if json {
        let of = |(name, held): (String, Held)| (name, json!({ "builds": held.entries, "bytes": held.bytes }));
        return report::json(&held.into_iter().map(of).collect::<serde_json::Map<_, _>>());
    }
    let mut table = Table::new(["what", "builds", "size"]);
    for (name, held) in held {
        table.row([name, held.entries.to_string(), size(held.bytes)]);
    }
    report::print(&format!("{}in {}\n", report::table(&table), cache.root().display()))
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}
