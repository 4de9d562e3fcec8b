//! The command line of this crate's accelerator: `cargo run -- list`.

use std::process::ExitCode;

use crane::bench;
use crane::top::Crane;
use senbazuru::Catalogue;

fn main() -> ExitCode {
    Catalogue::empty().block::<Crane>("crane", bench::bench).cli()
}
