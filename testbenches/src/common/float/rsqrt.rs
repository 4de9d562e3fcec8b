//! [`FloatRsqrt`] against exact roots.

use hdl::blocks::common::FloatRsqrt;

use super::{Exception, Unit};
use crate::common::formats::float;

/// The bench of a reciprocal square root. All operands come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatRsqrt) -> anyhow::Result<Box<dyn sim::Bench>> {
    let float = float(p.format, p.subnormals);
    let exceptions = Exception::some(p.flags, &[Exception::Invalid, Exception::DivisionByZero, Exception::Inexact]);
    Unit::unary(p.stages, float.format, &exceptions, move |a| float.rsqrt(a)).bench(p)
}
