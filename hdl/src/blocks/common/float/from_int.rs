//! Integer to floating point.

use serde::{Deserialize, Serialize};

use super::format::FloatFormat;
use crate::lang::{In, Out, OutOption, Type, bit, ports};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloatFromInt {
    /// Format of the result.
    pub format: FloatFormat,
    /// Width of the integer in bits.
    pub width: u32,
    /// The integer is two's complement; otherwise unsigned.
    pub signed: bool,
    /// Ranks of registers inside; 0 is combinational.
    pub stages: u32,
    /// Outputs for IEEE 754's exceptions.
    pub flags: bool,
}

ports! {
    /// Ports of [`FloatFromInt`].
    pub struct FloatFromIntPorts(p: &FloatFromInt) {
        /// The operands are to be used.
        valid_i: In = bit(),
        /// The integer.
        a_i: In = Type { width: p.width, signed: p.signed },
        /// The result is that of the operands `stages` cycles ago.
        valid_o: Out = bit(),
        /// The float nearest to it.
        result_o: Out = p.format.ty(),
        /// The integer was too large and the result is an infinity; present where that can happen.
        overflow_o: OutOption = bit().when(p.can_overflow()),
        /// The result is rounded, with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

impl FloatFromInt {
    /// Whether there are integers of this width that give an infinity.
    #[must_use]
    pub fn can_overflow(&self) -> bool {
        // The first integer that does is half a unit in the last place below 2^(bias + 1). Integers reach up to
        // 2^magnitude - 1, the most negative one to -2^magnitude.
        let magnitude = self.width - u32::from(self.signed);
        magnitude > self.format.bias()
            && (magnitude > self.format.bias() + 1 || magnitude >= self.format.fraction_bits() + 2 || self.signed)
    }
}
