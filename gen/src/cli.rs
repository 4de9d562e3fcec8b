//! The command line of a catalogue.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::catalogue::Catalogue;
use crate::shell::Program;

impl Catalogue {
    /// Runs the command line of this process on these blocks.
    #[must_use]
    pub fn cli(self) -> ExitCode {
        crate::commands::main(&self, &self.wrong, std::env::args_os().skip(1)).into()
    }

    /// Runs the command line in the process of an interpreter, which has loaded this code. `words` are what follows the name
    /// of the program. The result is the exit code.
    pub fn cli_within(self, program: Program, words: Vec<OsString>) -> u8 {
        program.remember();
        crate::commands::main(&self, &self.wrong, words.into_iter())
    }
}
