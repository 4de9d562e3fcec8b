//! `wave`: a timing diagram of a waveform file.

use std::path::PathBuf;

use crate::error::Result;
use crate::output::replace;
use crate::present::report;
use crate::present::wave::{self, Request};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Waveform in VCD, FST or GHW, from `senbazuru sim --trace` or from another simulator
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Signals, top to bottom: `name`, `inner.name`, `name[7:0]`. A suffix `:hex`, `:dec`, `:signed`, `:bin`, `:fp16`,
    /// `:bf16` or `:fp32` sets the format; `@valid_i` shows the signal only while `valid_i` is 1 [default: all ports of
    /// the top module]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    signals: Vec<String>,
    /// First cycle
    #[arg(long, value_name = "CYCLE", default_value_t = 0)]
    from: u64,
    /// Last cycle [default: 32 cycles in all]
    #[arg(long, value_name = "CYCLE")]
    to: Option<u64>,
    /// Clock, or `none` for a column at every moment at which a signal changes [default: clk_i, if there is one]
    #[arg(long, value_name = "NAME")]
    clock: Option<String>,
    /// Heading of the drawing
    #[arg(long, value_name = "TEXT", default_value = "")]
    title: String,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let request = Request {
        signals: args.signals.clone(),
        clock: args.clock.clone(),
        from: args.from,
        to: args.to,
        title: args.title.clone(),
    };
    let svg = wave::render(&args.file, &request)?;
    match &args.output {
        Some(path) => replace(path, svg.as_bytes()),
        None => report::print(&svg),
    }
}
