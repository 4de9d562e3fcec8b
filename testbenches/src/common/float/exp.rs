//! [`FloatExp`] against its algorithm in integers.

use golden::common::float::ExpTable;
use hdl::blocks::common::FloatExp;
use hdl::lang::Parameters;

use super::{Exception, Unit};
use crate::common::formats::float;

/// The bench of an exponential function. All operands come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatExp) -> anyhow::Result<Box<dyn sim::Bench>> {
    use Exception::{Inexact, Invalid, Overflow, Underflow};
    p.check()?;
    let float = float(p.format, p.subnormals);
    let table = ExpTable::new(float.format);
    let exceptions = Exception::some(p.flags, &[Invalid, Overflow, Underflow, Inexact]);
    Unit::unary(p.stages, float.format, &exceptions, move |a| table.exp(float, a)).bench(p)
}
