//! Waveform files: their variables, and how these change.
//!
//! VCD is text, and is read here: every line is checked, and a fault is told with its line. FST and GHW are binary, and
//! read by the crate `wellen`. That crate reads VCD as well, but does not check it. Version 0.25.7 panics where a value
//! does not fit its variable, and drops values of identifiers that nothing declares. It skips everything after a time
//! that goes back, and allocates as much as a declared width asks for.

mod binary;
mod vcd;

pub use vcd::Vcd;

use std::fs;
use std::io::{BufRead, BufReader, Seek};
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use crate::error::{Failure, Result};

/// A variable of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Scopes around it, outermost first.
    pub path: Rc<[String]>,
    /// Its name, with the index of an array's element.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Number of bits; 0 for numbers and texts.
    pub width: u32,
    /// First and last index of its bits as declared, the most significant bit first.
    pub range: Option<(i64, i64)>,
    /// The code by which changes name it. Variables that are one net have one code.
    pub code: usize,
}

/// The kind of a variable's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bits, at least one.
    Bits,
    /// A floating-point number.
    Real,
    /// A text, such as the name of a state.
    Text,
    /// Nothing: it happens.
    Event,
}

/// The new value of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Bits, the highest first, each `0`, `1`, `x` or `z`. They may be fewer than the variable has: the missing bits
    /// are `0`, or equal the first bit if it is unknown.
    Bits(&'a str),
    /// A number.
    Real(f64),
    /// A text.
    Text(&'a str),
    /// The event happens.
    Event,
}

/// An item of a file after its header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<'a> {
    /// The next changes are at this time, which is later than the time before.
    Time(u64),
    /// The variables of this code change.
    Change(usize, Value<'a>),
}

/// A file whose header has been read.
pub enum Waveform {
    /// Text.
    Vcd(Vcd<BufReader<fs::File>>),
    /// FST or GHW.
    Binary(binary::Binary),
}

impl Variable {
    /// Name with the scopes around it.
    #[must_use]
    pub fn full_name(&self) -> String {
        self.path.iter().chain([&self.name]).map(String::as_str).collect::<Vec<_>>().join(".")
    }

    /// Whether a user's `inner.name` may mean it.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        let full = self.full_name();
        full == name || full.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    }

    /// First and last index of its bits, the most significant bit first.
    #[must_use]
    pub fn indices(&self) -> (i64, i64) {
        self.range.unwrap_or((i64::from(self.width) - 1, 0))
    }
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

/// Text out of a file that goes into a drawing or a message: no control characters.
fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(char::is_control, "\u{fffd}")
}

/// A bit as simulators write it, as one of four.
fn bit(letter: u8) -> Option<u8> {
    match letter.to_ascii_lowercase() {
        b'0' | b'l' => Some(b'0'),
        b'1' | b'h' => Some(b'1'),
        b'x' | b'u' | b'w' | b'-' => Some(b'x'),
        b'z' => Some(b'z'),
        _ => None,
    }
}
