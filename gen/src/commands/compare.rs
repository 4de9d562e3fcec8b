//! `compare`: accelerators on the same models, tokens, memory and clock.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use models::cycles::Part;

use crate::catalogue::Catalogue;
use crate::compare::{self, Asked, Comparison, Found, Phase};
use crate::error::Result;
use crate::output::{check_place, replace};
use crate::point::{STORE, STORE_LIMIT, Store};
use crate::present::{page, report};
use crate::{shell, sweep};

/// Where areas that nobody gives come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum AreaFrom {
    /// From files; if one is missing, one machine of each is compared
    #[default]
    Files,
    /// Blocks without one are synthesised, which takes minutes to hours for a complete accelerator
    Synth,
}

/// The part of a model, as the command line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PartName {
    /// One layer
    Layer,
    /// All layers, and the product with the vocabulary
    Model,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Rows: accelerators as NAME or NAME:KEY=VALUE,.. with parameters and options, and TOML files that describe machines or
    /// a comparison
    #[arg(required = true, value_name = "MACHINE_OR_FILE")]
    rows: Vec<String>,
    /// Models: shapes in this program by name, config.json files, folders with one, GGUF files [default: of the file, or
    /// Llama-2-7B]
    #[arg(long, value_name = "NAME_OR_PATH,..", value_delimiter = ',')]
    model: Vec<String>,
    /// Phases [default: of the file, or both]
    #[arg(long, value_name = "PHASE,..", value_enum, value_delimiter = ',')]
    phase: Vec<Phase>,
    /// Tokens that the last new token sees, including itself [default: of the file, or 128,1024,4096]
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    context: Vec<u64>,
    /// Sequences side by side [default: of the file, or 1,16]
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    batch: Vec<u64>,
    /// Bytes a cycle of memory [default: of the file, or 16,64,256]
    #[arg(long, value_name = "BYTES,..", value_delimiter = ',')]
    bandwidth: Vec<f64>,
    /// The part of a model that is counted [default: of the file, or layer]
    #[arg(long, value_enum)]
    part: Option<PartName>,
    /// Cycles until memory answers [default: of the file, or 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=compare::MOST_LATENCY as i64))]
    latency: Option<u32>,
    /// Energies of events, for all machines: a TOML file [default: of the file, or none]
    #[arg(long, value_name = "FILE")]
    energy: Option<PathBuf>,
    /// Where areas that no file gives come from
    #[arg(long, value_enum, default_value_t)]
    area: AreaFrom,
    /// Cell library of the synthesis: a name (osu018, osu035, osu050) or Liberty files
    #[arg(long, value_name = "LIBRARY", default_value = "osu018")]
    liberty: Vec<PathBuf>,
    /// Folder of stored results, which sweeps share; what is there is not counted again
    #[arg(long, value_name = "DIR", default_value = STORE)]
    store: PathBuf,
    /// Machines that are counted in parallel [default: number of processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Folder for CSV, JSON, SQLite and the page report.html
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write a line for each machine, model, work and bandwidth as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw cycles over bandwidth for the first work that is shown, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print the tables in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print the steps of ladders alone
    #[arg(long, conflicts_with = "json")]
    steps: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let asked = Asked {
        models: args.model.clone(),
        phases: args.phase.clone(),
        contexts: args.context.clone(),
        batches: args.batch.clone(),
        bandwidths: args.bandwidth.clone(),
        part: args.part.map(|part| match part {
            PartName::Layer => Part::Layer,
            PartName::Model => Part::Model,
        }),
        latency: args.latency,
        energy: args.energy.clone(),
    };
    args.csv.iter().chain(&args.svg).try_for_each(|path| check_place(path))?;
    if let Some(folder) = &args.output {
        check_place(&folder.join("results.json"))?;
    }
    let limit = sim::held::limit(STORE_LIMIT)?;
    let mut comparison = Comparison::new(&args.rows, &asked, catalogue)?;
    let store = Store::new(&args.store);
    if args.area == AreaFrom::Synth {
        compare::synthesise(&mut comparison, &args.liberty, &store)?;
    }
    comparison.check_areas()?;
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let rows = compare::count(&comparison, &store, threads)?;
    let found = Found::new(&comparison, rows);
    if let Some(path) = &args.csv {
        replace(path, &compare::csv(&found)?)?;
    }
    if let Some(path) = &args.svg {
        replace(path, compare::curves(&found)?.as_bytes())?;
    }
    if let Some(folder) = &args.output {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<String> = std::iter::once(shell::program().to_owned()).chain(words).collect();
        sweep::write_results(folder, &compare::results(&found, &shell::line(&words)))?;
        page::write(std::slice::from_ref(folder), &folder.join("report.html"), catalogue)?;
    }
    limit.map_or(Ok(()), |most| store.shrink(most).map(drop))?;
    if args.json {
        return report::json(&compare::json(&found)?);
    }
    let text = match (args.steps, args.markdown) {
        (true, in_markdown) => compare::steps_alone(&found, in_markdown),
        (false, true) => compare::markdown(&found),
        (false, false) => compare::text(&found),
    };
    report::print(&text?)
}
