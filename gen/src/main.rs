//! The `senbazuru` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    senbazuru::main()
}
