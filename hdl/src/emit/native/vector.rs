//! Expressions in loops of which C makes vectors: sums and masks in place of choices and comparisons, whose results of one
//! bit keep compilers from making vectors.

use super::code::Code;
use super::value::{c_type, mask};
use crate::lang::Type;
use crate::lang::ir::{Compare, Logic};

/// Values of fewer bits leave room for the borrow of a difference in 32 bits.
const ROOM: u32 = 32;

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
        if !self.in_vector() || width >= ROOM || x.signed != y.signed {
            return None;
        }
        let less = |a: &str, b: &str| format!("((u32){a} - (u32){b}) >> {}", ROOM - 1);
        let unequal = match width {
            1 => format!("((u32){a} ^ (u32){b}) & 1u"),
            _ => any(&format!("((u32){a} ^ (u32){b}) & {}", mask(width))),
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
        if !self.in_vector() || width >= ROOM {
            return None;
        }
        match f {
            Logic::Or => Some(any(bits)),
            Logic::And => Some(format!("({}) ^ 1u", any(&format!("{bits} ^ {}", mask(width))))),
            Logic::Xor => None,
        }
    }
}

/// Whether any bit is set, of fewer than 32.
fn any(bits: &str) -> String {
    format!("(0u - (u32)({bits})) >> {}", ROOM - 1)
}
