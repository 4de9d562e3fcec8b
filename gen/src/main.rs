//! The `senbazuru` command.

use std::process::ExitCode;

use senbazuru::Catalogue;

fn main() -> ExitCode {
    Catalogue::standard().cli()
}
