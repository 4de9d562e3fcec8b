//! The command line of this crate's accelerator: `cargo run -- list`.

use std::process::ExitCode;

use senbazuru::Catalogue;
use {{ name }}::bench;
use {{ name }}::top::{{ type }};

fn main() -> ExitCode {
    Catalogue::empty().block::<{{ type }}>("{{ family }}", bench::bench).cli()
}
