//! A value of the metadata.

use std::fmt;

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any integer.
    Integer(i128),
    /// A float of 32 or 64 bits.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(String),
    /// An array of integers of up to 32 bits, or of truth values as 0 and 1.
    Integers(Vec<i64>),
    /// An array of floats of 32 bits.
    Floats(Vec<f32>),
    /// An array of texts.
    Texts(Vec<String>),
}

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Bool(_) => "a truth value",
            Self::Text(_) => "a text",
            Self::Integers(_) => "an array of integers",
            Self::Floats(_) => "an array of floats",
            Self::Texts(_) => "an array of texts",
        }
    }
}

/// A number, truth value or text as it is; of an array only what it is.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(x) => x.fmt(f),
            Self::Float(x) => x.fmt(f),
            Self::Bool(x) => x.fmt(f),
            Self::Text(x) => write!(f, "{x:?}"),
            Self::Integers(_) | Self::Floats(_) | Self::Texts(_) => f.write_str(self.kind()),
        }
    }
}
