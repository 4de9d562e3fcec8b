//! Conversion from format to format.

use rustc_apfloat::ieee::IeeeFloat;
use rustc_apfloat::{FloatConvert as _, StatusAnd};

use super::flags::Operands;
use super::semantics::with_semantics;
use super::{Flags, Float, FloatFormat, Rounded};

impl Float {
    /// A value of this format in format `to`; the same meaning of subnormals on both sides.
    pub fn convert(self, bits: u64, to: FloatFormat) -> Rounded {
        let target = Self { format: to, subnormals: self.subnormals };
        let converted = with_semantics!(self.format, S => {
            let value = self.operand::<S>(bits);
            with_semantics!(to, T => {
                let mut loses_info = false;
                let converted: StatusAnd<IeeeFloat<T>> = value.convert(&mut loses_info);
                target.bits(converted)
            })
        });
        let operands = Operands::of(self.format, &[bits]);
        Rounded { bits: converted, flags: Flags::judge(to, converted, operands, || self.exact(bits)) }
    }
}
