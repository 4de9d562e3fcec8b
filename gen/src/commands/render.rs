//! `render`: a document with numbers of sweeps in it.

use std::path::PathBuf;

use crate::error::{Failure, Result};
use crate::output::replace;
use crate::present::render::{render, with_parts};
use crate::present::report;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Template, see docs/sweeps.md
    template: PathBuf,
    /// Folder with the folders of sweeps, and facts/*.json
    #[arg(long, value_name = "DIR", default_value = "target/sweeps")]
    results: PathBuf,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace what stands in the file between `<!-- x -->` and `<!-- /x -->` by the template's part of that name
    #[arg(long, requires = "output")]
    parts: bool,
    /// Compare with the file instead of writing it
    #[arg(long, requires = "output")]
    check: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut text = render(&args.template, &args.results)?;
    if let (Some(path), true) = (&args.output, args.parts) {
        let page = std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
        let wrong = |why| Failure::Usage(format!("{} into {}: {why}", args.template.display(), path.display()));
        text = with_parts(&page, &text).map_err(wrong)?;
    }
    match &args.output {
        Some(path) if args.check => {
            let found = std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
            if found == text {
                return Ok(());
            }
            let line = 1 + found.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
            Err(Failure::Check(format!("{}:{line} differs from what the template makes now", path.display())))
        }
        Some(path) => replace(path, text.as_bytes()),
        None => report::print(&text),
    }
}
