//! `clean`: shows the sizes of the cache of models and of the store of results, and removes from them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sim::held::{Held, MIB, limit};
use sim::{CACHE_LIMIT, Cache};

use crate::error::Result;
use crate::point::{STORE, STORE_LIMIT, Store};
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Remove results of sweeps instead of models: the results in the store DIR
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = STORE)]
    store: Option<PathBuf>,
    /// Keep what was used last, up to MIB mebibytes [default: SENBAZURU_CACHE_LIMIT, or SENBAZURU_STORE_LIMIT for
    /// results; 0 without that setting]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    keep: Option<u64>,
    /// Show the sizes of the cache and of the store; remove nothing
    #[arg(long, conflicts_with = "keep")]
    sizes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A folder with the files that are kept in it.
#[derive(Serialize)]
struct Folder {
    folder: PathBuf,
    /// Bytes that its setting allows.
    limit: Option<u64>,
    sections: BTreeMap<String, Held>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let store = Store::new(args.store.as_deref().unwrap_or(Path::new(STORE)));
    if args.sizes {
        return sizes(&store, args.json);
    }
    let (setting, what) = if args.store.is_some() { (STORE_LIMIT, "results") } else { (CACHE_LIMIT, "builds") };
    let most = match args.keep {
        Some(keep) => keep * MIB,
        None => limit(setting)?.unwrap_or(0),
    };
    let (left, root) = match args.store {
        Some(_) => (store.shrink(most)?, store.root().to_owned()),
        None => (Cache::User.shrink(most)?, Cache::User.root()),
    };
    if args.json {
        return report::json(&left);
    }
    let (gone, kept) = (left.removed, left.kept);
    report::print(&format!(
        "removed {} {what}, {}; kept {}, {} in {}\n",
        gone.entries,
        size(gone.bytes),
        kept.entries,
        size(kept.bytes),
        root.display()
    ))
}

fn sizes(store: &Store, json: bool) -> Result<()> {
    let cache = Folder { folder: Cache::User.root(), limit: limit(CACHE_LIMIT)?, sections: Cache::User.held()? };
    let store = Folder { folder: store.root().to_owned(), limit: limit(STORE_LIMIT)?, sections: store.held()? };
    let weights = crate::weights().and_then(|path| fs::metadata(path).ok()).map_or(0, |file| file.len());
    if json {
        return report::json(&serde_json::json!({ "cache": cache, "store": store, "weights": weights }));
    }
    let mut text = format!("{}\n{}", of(&cache, "compiled models", CACHE_LIMIT), of(&store, "results", STORE_LIMIT));
    if weights > 0 {
        text += &format!("\nand {} of weights, which `clean` leaves alone\n", size(weights));
    }
    report::print(&text)
}

fn of(folder: &Folder, what: &str, setting: &str) -> String {
    let limit = match folder.limit {
        Some(limit) => format!("at most {} by {setting}", size(limit)),
        None => format!("no limit by {setting}"),
    };
    let mut table = Table::new(["what", "number", "size"]);
    let mut all = Held::default();
    for (name, held) in &folder.sections {
        table.row([name.clone(), held.entries.to_string(), size(held.bytes)]);
        all = Held { entries: all.entries + held.entries, bytes: all.bytes + held.bytes };
    }
    table.row(["all".into(), all.entries.to_string(), size(all.bytes)]);
    format!("{what} in {}, {limit}\n{}", folder.folder.display(), report::table(&table))
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}
