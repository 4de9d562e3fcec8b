//! The command line of this crate's blocks: `cargo run -- list`.

mod {{ name }};

use std::process::ExitCode;

use {{ name }}::{{ type }};
use senbazuru::Catalogue;

fn main() -> ExitCode {
    Catalogue::empty().block::<{{ type }}>("{{ family }}", {{ name }}::bench).cli()
}
