//! [`FloatSigmoid`] against its algorithm in integers.

use golden::common::float::{Function, FunctionTable};
use hdl::blocks::common::FloatSigmoid;
use hdl::lang::Parameters;

use super::{Exception, Unit};
use crate::common::formats::float;

/// The bench of a logistic function. All operands come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatSigmoid) -> anyhow::Result<Box<dyn sim::Bench>> {
    use Exception::{Inexact, Invalid, Underflow};
    p.check()?;
    let float = float(p.format, p.subnormals);
    let table = FunctionTable::new(Function::Sigmoid, float.format);
    let exceptions = Exception::some(p.flags, &[Invalid, Underflow, Inexact]);
    Unit::unary(p.stages, float.format, &exceptions, move |a| table.apply(float, a)).bench(p)
}
