//! Errors: of parameters, and of elaboration (collected, located, reported together).

use std::fmt;
use std::panic::Location;

/// A parameter whose value a block cannot be built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// Parameter name as in the block's struct and on the command line.
    pub parameter: String,
    /// The value that was given.
    pub value: String,
    /// The values that are allowed, for example "1 to 64".
    pub allowed: String,
}

impl ParamError {
    /// A parameter error; `allowed` says what would be right.
    pub fn new(parameter: &str, value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self { parameter: parameter.into(), value: value.to_string(), allowed: allowed.to_string() }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameter `{}` is {}, allowed: {}", self.parameter, self.value, self.allowed)
    }
}

impl std::error::Error for ParamError {}

/// Everything that is wrong with the parameters of a block: at least one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamErrors(pub Vec<ParamError>);

impl fmt::Display for ParamErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ParamErrors {}

/// Checks that `value` lies in `allowed`.
///
/// # Errors
/// Names the parameter, the value and the range.
pub fn ensure_param<T, R>(name: &str, value: T, allowed: R) -> Result<(), ParamError>
where
    T: PartialOrd + fmt::Display,
    R: std::ops::RangeBounds<T>,
{
    use std::ops::Bound;
    if allowed.contains(&value) {
        return Ok(());
    }
    let low = match allowed.start_bound() {
        Bound::Included(x) => format!("from {x}"),
        Bound::Excluded(x) => format!("above {x}"),
        Bound::Unbounded => String::new(),
    };
    let high = match allowed.end_bound() {
        Bound::Included(x) => format!("to {x}"),
        Bound::Excluded(x) => format!("below {x}"),
        Bound::Unbounded => String::new(),
    };
    Err(ParamError::new(name, value, format!("{low} {high}").trim()))
}

/// Checks that `value` is a power of two in `allowed`.
///
/// # Errors
/// Names the parameter, the value and what would be right.
pub fn ensure_power_of_two(name: &str, value: u32, allowed: std::ops::RangeInclusive<u32>) -> Result<(), ParamError> {
    if value.is_power_of_two() && allowed.contains(&value) {
        return Ok(());
    }
    Err(ParamError::new(name, value, format!("a power of two from {} to {}", allowed.start(), allowed.end())))
}

/// A place in the Rust source that describes the hardware.
pub(crate) type Loc = &'static Location<'static>;

/// One error of elaboration.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// What is wrong, with the names and widths concerned.
    pub message: String,
    /// Where in the Rust source.
    pub location: Loc,
    /// Verilog module under construction.
    pub module: String,
    /// A second place that matters, such as the previous definition.
    pub related: Option<(String, Loc)>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        write!(f, "  --> {}:{}:{}", file(self.location), self.location.line(), self.location.column())?;
        if !self.module.is_empty() {
            write!(f, ", in module {}", self.module)?;
        }
        if let Some((what, at)) = &self.related {
            write!(f, "\n  note: {what} at {}:{}", file(at), at.line())?;
        }
        Ok(())
    }
}

/// The file of a location with forward slashes on every platform.
fn file(location: Loc) -> String {
    location.file().replace('\\', "/")
}

/// Why a block could not be elaborated.
#[derive(Clone, Debug)]
pub enum ElabError {
    /// The block, or a block inside it, refused its parameters.
    Param {
        /// Name of the block that refused.
        block: String,
        /// Module in which it was placed, unless it is the top.
        within: Option<String>,
        /// Each parameter that is wrong, with its value and what is allowed.
        errors: ParamErrors,
    },
    /// Errors in the description of the hardware, all that were found.
    Design(Vec<Diagnostic>),
}

impl fmt::Display for ElabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Param { block, within, errors } => {
                let within = within.as_ref().map_or_else(String::new, |module| format!(" in {module}"));
                for (i, error) in errors.0.iter().enumerate() {
                    write!(f, "{}{block}{within}: {error}", if i > 0 { "\n" } else { "" })?;
                }
                Ok(())
            }
            Self::Design(list) => {
                for (i, d) in list.iter().enumerate() {
                    if i > 0 {
                        writeln!(f)?;
                    }
                    write!(f, "{d}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ElabError {}
