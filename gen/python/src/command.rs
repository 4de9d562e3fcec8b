//! The command line, within the interpreter.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use senbazuru::Catalogue;
use senbazuru::shell::Program;

/// Runs a command of the command line in this process, and returns its exit code.
///
/// `code` is the file of this module, `program` the words before a command.
#[pyfunction]
#[pyo3(signature = (arguments, *, code, program))]
pub fn main(py: Python<'_>, arguments: Vec<OsString>, code: PathBuf, program: Vec<String>) -> u8 {
    py.detach(|| Catalogue::standard().cli_within(Program { code, words: program }, arguments))
}
