//! The command line of a catalogue.

use std::process::ExitCode;

use crate::catalogue::Catalogue;

impl Catalogue {
    /// Runs the command line of this process on these blocks.
    #[must_use]
    pub fn cli(self) -> ExitCode {
        crate::commands::main(&self, &self.wrong)
    }
}
