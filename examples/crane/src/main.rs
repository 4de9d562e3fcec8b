//! The command line of this crate's accelerator, beside all blocks of the toolkit: `cargo run -- list`.

use std::process::ExitCode;
use std::sync::Arc;

use crane::bench;
use crane::costs::COSTS;
use crane::lowering::RUNS;
use crane::scheme::{CraneCache, CraneScheme};
use crane::top::Crane;
use senbazuru::{Catalogue, Line};

fn main() -> ExitCode {
    let crane = Line::<Crane>::new("crane", bench::bench).counts(COSTS).runs(RUNS);
    let all = Catalogue::standard().line(crane).scheme(Arc::new(CraneScheme)).scheme(Arc::new(CraneCache));
    all.block("crane", bench::row::bench).cli()
}
