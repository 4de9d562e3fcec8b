//! [`FloatReciprocal`] against exact quotients.

use hdl::blocks::common::FloatReciprocal;

use super::{Exception, Unit};
use crate::common::formats::float;

/// The bench of a reciprocal. All operands of up to 16 bits come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatReciprocal) -> anyhow::Result<Box<dyn sim::Bench>> {
    use Exception::{DivisionByZero, Inexact, Invalid, Overflow, Underflow};
    let float = float(p.format, p.subnormals);
    let exceptions = Exception::some(p.flags, &[Invalid, DivisionByZero, Overflow, Underflow, Inexact]);
    Unit::unary(p.stages, float.format, &exceptions, move |a| float.reciprocal(a)).bench(p)
}
