//! When a field means something. Elsewhere it must be 0.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

use serde::{Deserialize, Serialize};

use crate::lang::{Signal, bit};

/// A condition on the other fields of a descriptor, as data: hardware, checks and tables all read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It holds always.
    Always,
    /// The hardware has a part, by name; whether it does.
    Built(String, bool),
    /// The field is not 0.
    Set(String),
    /// The field has this value.
    Is(String, u32),
    /// The operation has this number.
    Opcode(u32),
    /// The condition does not hold.
    Not(Box<Condition>),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// One of them holds.
    Or(Box<Condition>, Box<Condition>),
}

/// The field is not 0.
#[must_use]
pub fn set(field: &str) -> Condition {
    Condition::Set(field.into())
}

/// The field has this value.
#[must_use]
pub fn is(field: &str, value: u32) -> Condition {
    Condition::Is(field.into(), value)
}

/// The operation has this number.
#[must_use]
pub fn opcode(number: u32) -> Condition {
    Condition::Opcode(number)
}

/// The hardware has the part that the field is for, whose name is `part`.
#[must_use]
pub fn built(part: &str, there: bool) -> Condition {
    Condition::Built(part.into(), there)
}

impl BitAnd for Condition {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::And(Box::new(self), Box::new(other))
    }
}

impl BitOr for Condition {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::Or(Box::new(self), Box::new(other))
    }
}

impl Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl Condition {
    /// Whether it holds, with the values of fields that `field` gives, and the operation's number.
    pub fn holds(&self, field: &dyn Fn(&str) -> u64, number: u32) -> bool {
        match self {
            Self::Always => true,
            Self::Built(_, there) => *there,
            Self::Set(name) => field(name) != 0,
            Self::Is(name, value) => field(name) == u64::from(*value),
            Self::Opcode(wanted) => number == *wanted,
            Self::Not(inner) => !inner.holds(field, number),
            Self::And(a, b) => a.holds(field, number) && b.holds(field, number),
            Self::Or(a, b) => a.holds(field, number) || b.holds(field, number),
        }
    }

    /// The same in hardware.
    pub(super) fn signal(&self, field: &dyn Fn(&str) -> Signal, number: Option<Signal>) -> Signal {
        match self {
            Self::Always => bit().lit(1),
            Self::Built(_, there) => bit().lit(u32::from(*there)),
            Self::Set(name) => field(name).any(),
            Self::Is(name, value) if field(name).width() == 1 => {
                let field = field(name);
                if *value == 0 { !field } else { field }
            }
            Self::Is(name, value) => field(name).eq(*value),
            Self::Opcode(wanted) => number.map_or(bit().lit(0), |number| number.eq(*wanted)),
            Self::Not(inner) => !inner.signal(field, number),
            Self::And(a, b) => a.signal(field, number) & b.signal(field, number),
            Self::Or(a, b) => a.signal(field, number) | b.signal(field, number),
        }
    }

    /// The fields that it reads.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::Always | Self::Built(..) | Self::Opcode(_) => Vec::new(),
            Self::Set(name) | Self::Is(name, _) => vec![name],
            Self::Not(inner) => inner.fields(),
            Self::And(a, b) | Self::Or(a, b) => [a.fields(), b.fields()].concat(),
        }
    }

    /// It depends on the operation's number.
    pub(super) fn reads_opcode(&self) -> bool {
        match self {
            Self::Opcode(_) => true,
            Self::Always | Self::Built(..) | Self::Set(_) | Self::Is(..) => false,
            Self::Not(inner) => inner.reads_opcode(),
            Self::And(a, b) | Self::Or(a, b) => a.reads_opcode() || b.reads_opcode(),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::Built(part, _) => write!(f, "{part} is built"),
            Self::Set(name) => write!(f, "{name}"),
            Self::Is(name, value) => write!(f, "{name} = {value}"),
            Self::Opcode(number) => write!(f, "opcode = {number}"),
            Self::Not(inner) => match &**inner {
                Self::And(..) | Self::Or(..) => write!(f, "not ({inner})"),
                _ => write!(f, "not {inner}"),
            },
            Self::And(a, b) => {
                let part = |part: &Self| match part {
                    Self::Or(..) => format!("({part})"),
                    _ => part.to_string(),
                };
                write!(f, "{} and {}", part(a), part(b))
            }
            Self::Or(a, b) => write!(f, "{a} or {b}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_as_text_and_hold_as_they_read() {
        let condition = set("norm") & !(is("kind", 1) | opcode(2));
        assert_eq!(condition.to_string(), "norm and not (kind = 1 or opcode = 2)");
        assert_eq!((set("a") & (set("b") | built("part", false))).to_string(), "a and (b or part is built)");
        assert_eq!((!set("a") & Condition::Always).to_string(), "not a and always");
        let holds =
            |norm: u64, kind: u64, number| condition.holds(&|name| if name == "norm" { norm } else { kind }, number);
        assert!(holds(1, 0, 1) && holds(1, 2, 1));
        assert!(!holds(0, 0, 1) && !holds(1, 1, 1) && !holds(1, 0, 2));
        assert_eq!(condition.fields(), ["norm", "kind"]);
        assert!(condition.reads_opcode() && !set("a").reads_opcode());
    }
}
