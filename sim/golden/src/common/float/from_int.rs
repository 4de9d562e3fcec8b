//! Floats of integers.

use rustc_apfloat::Float as _;
use rustc_apfloat::ieee::IeeeFloat;

use super::exact::Exact;
use super::semantics::with_semantics;
use super::{Float, Rounded};

impl Float {
    /// The float nearest to an integer. Integers that are too large give an infinity and raise `overflow`.
    pub fn from_int(self, value: i128) -> Rounded {
        let bits = with_semantics!(self.format, S => self.bits(IeeeFloat::<S>::from_i128(value)));
        self.judged(bits, &[], || Exact::integer(value))
    }
}
