//! Expressions in loops of which C makes vectors: sums and masks in place of choices and comparisons, whose results of one
//! bit keep compilers from making vectors.

use super::c_types::{c_type, mask};
use super::code::Code;
use crate::lang::Type;
use crate::lang::ir::{Compare, Logic};

/// The type with a bit of room above a value, for the borrow of a difference.
fn roomy(width: u32) -> Option<(&'static str, u32)> {
    match width {
        ..16 => Some(("u16", 15)),
        16..32 => Some(("u32", 31)),
        _ => None,
    }
}

impl Code<'_> {
    /// One of two values that have names, by a bit.
    pub(super) fn choice(&self, bit: &str, yes: &str, no: &str, ty: Type) -> String {
        if !self.in_vector() {
            return format!("{bit} ? {yes} : {no}");
        }
        let t = c_type(ty);
        format!("{no} ^ (({yes} ^ {no}) & -({t}){bit})")
    }

    /// A comparison of two values; `None` where C's own will do.
    pub(super) fn difference(&self, f: Compare, [a, b]: [&str; 2], [x, y]: [Type; 2]) -> Option<String> {
        let width = x.width.max(y.width);
        if !self.in_vector() || x.signed != y.signed {
            return None;
        }
        let (t, top) = roomy(width)?;
        let less = |a: &str, b: &str| format!("(u32)({t})((u32){a} - (u32){b}) >> {top}");
        let unequal = match width {
            1 => format!("((u32){a} ^ (u32){b}) & 1u"),
            _ => any(&format!("((u32){a} ^ (u32){b}) & {}", mask(width)), width)?,
        };
        Some(match f {
            Compare::Lt => less(a, b),
            Compare::Le => format!("({}) ^ 1u", less(b, a)),
            Compare::Ne => unequal,
            Compare::Eq => format!("({unequal}) ^ 1u"),
        })
    }

    /// All bits of a value as one; `None` where C's own comparison will do.
    pub(super) fn folded(&self, f: Logic, bits: &str, width: u32) -> Option<String> {
        if !self.in_vector() {
            return None;
        }
        match f {
            Logic::Or => any(bits, width),
            Logic::And => Some(format!("({}) ^ 1u", any(&format!("{bits} ^ {}", mask(width)), width)?)),
            Logic::Xor => None,
        }
    }
}

/// Whether any bit is set.
fn any(bits: &str, width: u32) -> Option<String> {
    let (t, top) = roomy(width)?;
    Some(format!("(u32)({t})(0u - (u32)({bits})) >> {top}"))
}
