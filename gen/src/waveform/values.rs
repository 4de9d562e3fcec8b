//! Variables of a waveform, and their values.

use std::rc::Rc;

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

/// Text out of a file that goes into a drawing or a message: no control characters.
pub(super) fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(char::is_control, "\u{fffd}")
}

/// A bit as simulators write it, as one of four.
pub(super) fn bit(letter: u8) -> Option<u8> {
    match letter.to_ascii_lowercase() {
        b'0' | b'l' => Some(b'0'),
        b'1' | b'h' => Some(b'1'),
        b'x' | b'u' | b'w' | b'-' => Some(b'x'),
        b'z' => Some(b'z'),
        _ => None,
    }
}
