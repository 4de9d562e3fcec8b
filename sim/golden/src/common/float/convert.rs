//! Conversion from format to format.

use num_bigint::BigUint;
use rustc_apfloat::ieee::IeeeFloat;
use rustc_apfloat::{FloatConvert as _, StatusAnd};

use super::exact::smallest;
use super::flags::Operands;
use super::semantics::with_semantics;
use super::{Direction, Flags, Float, FloatFormat, Rounded};

impl Float {
    /// A value of this format in format `to`, rounded to nearest, ties to even. Subnormals are treated in the same way
    /// on both sides.
    pub fn convert(self, bits: u64, to: FloatFormat) -> Rounded {
        self.convert_directed(Direction::NearestEven, bits, to)
    }

    /// The same, rounded in a direction. A value overflows if its rounding with an exponent of any size is too large,
    /// even if the result is then the largest number.
    pub fn convert_directed(self, direction: Direction, bits: u64, to: FloatFormat) -> Rounded {
        let target = Self { format: to, subnormals: self.subnormals };
        let converted = with_semantics!(self.format, S => {
            let value = self.operand::<S>(bits);
            with_semantics!(to, T => {
                let mut loses_info = false;
                let converted: StatusAnd<IeeeFloat<T>> = value.convert_r(direction.round(), &mut loses_info);
                target.bits(converted)
            })
        });
        let operands = Operands::of(self.format, &[bits]);
        let mut flags = Flags::judge(to, converted, operands, || self.exact(bits));
        if self.format.is_finite(bits) {
            // 2 to the power of the target's largest exponent and 1, in units of the value.
            let bias = (1u32 << (to.exponent_bits() - 1)) - 1;
            let limit = BigUint::from(1u8) << (bias + 1 + smallest(self.format));
            flags.overflow |= *self.exact(bits).units.magnitude() >= limit;
        }
        Rounded { bits: converted, flags }
    }
}
