//! Waveform files: their variables, and how these change.
//!
//! VCD is text, and is read here: every line is checked, and a fault is told with its line. FST and GHW are binary, and
//! read by the crate `wellen`. That crate reads VCD as well, but does not check it. Version 0.25.7 panics where a value
//! does not fit its variable, and drops values of identifiers that nothing declares. It skips everything after a time
//! that goes back, and allocates as much as a declared width asks for.

mod binary;
mod values;
mod vcd;

pub use values::{Kind, Step, Value, Variable};
pub use vcd::Vcd;

use std::fs;
use std::io::{BufRead, BufReader, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::{Failure, Result};

/// A file whose header has been read.
pub enum Waveform {
    /// Text.
    Vcd(Vcd<BufReader<fs::File>>),
    /// FST or GHW.
    Binary(binary::Binary),
}

impl Waveform {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// A file that cannot be read, or is not a waveform.
    pub fn open(path: &Path) -> Result<Self> {
        let cannot = |e| Failure::file("read", path, &e);
        let mut input = BufReader::new(fs::File::open(path).map_err(cannot)?);
        let text = vcd::begins(input.fill_buf().map_err(cannot)?);
        input.rewind().map_err(cannot)?;
        let opened = match text {
            true => Vcd::open(input).map(Self::Vcd).map_err(|e| format!("is no VCD file: {e}")),
            false => binary::Binary::open(input).map(Self::Binary),
        };
        opened.map_err(|e| {
            let hint = "`senbazuru sim BLOCK --trace FILE.vcd` makes VCD files";
            Failure::Usage(format!("{} {e}; {hint}", path.display()))
        })
    }

    /// Its variables, in the order of the file.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        match self {
            Self::Vcd(vcd) => vcd.variables(),
            Self::Binary(binary) => binary.variables(),
        }
    }

    /// Hands the items of the file to `each` until it breaks off. With `codes`, a file skips the changes of other
    /// variables if it can.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(
        self,
        codes: Option<&[usize]>,
        each: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
    ) -> Result<(), String> {
        match self {
            Self::Vcd(mut vcd) => {
                while let Some(step) = vcd.step()? {
                    if each(step).is_break() {
                        break;
                    }
                }
                Ok(())
            }
            Self::Binary(binary) => binary.read(codes, each),
        }
    }
}
