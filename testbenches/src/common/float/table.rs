//! [`FloatTable`] against its algorithm in integers.

use golden::common::float::{Function, FunctionTable};
use hdl::blocks::common::{FloatFunction, FloatTable};
use hdl::lang::Parameters;

use super::{Exception, Unit};
use crate::common::formats::float;

/// The function, as the golden model calls it.
#[must_use]
pub fn function(function: FloatFunction) -> Function {
    match function {
        FloatFunction::GeluErf => Function::GeluErf,
        FloatFunction::GeluTanh => Function::GeluTanh,
        FloatFunction::Silu => Function::Silu,
        FloatFunction::Tanh => Function::Tanh,
        FloatFunction::Relu => Function::Relu,
    }
}

/// The bench of an activation function. All operands come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatTable) -> anyhow::Result<Box<dyn sim::Bench>> {
    use Exception::{Inexact, Invalid, Underflow};
    p.check()?;
    let float = float(p.format, p.subnormals);
    let table = FunctionTable::new(function(p.function), float.format);
    let raised: &[Exception] =
        if p.function == FloatFunction::Relu { &[Invalid] } else { &[Invalid, Underflow, Inexact] };
    let exceptions = Exception::some(p.flags, raised);
    Unit::unary(p.stages, float.format, &exceptions, move |a| table.apply(float, a)).bench(p)
}
