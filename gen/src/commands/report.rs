//! `report`: the page of a sweep.

use std::path::PathBuf;

use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::present::{page, report};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folders that `senbazuru sweep` filled; several become one page
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// The page [default: report.html in the folder of the sweep]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let file = match (&args.output, &args.dirs[..]) {
        (Some(file), _) => file.clone(),
        (None, [dir]) => dir.join("report.html"),
        (None, _) => return Err(Failure::Usage("several folders make one page: say where with `-o FILE`".into())),
    };
    page::write(&args.dirs, &file, catalogue)?;
    report::print(&format!("{}\n", file.display()))
}
