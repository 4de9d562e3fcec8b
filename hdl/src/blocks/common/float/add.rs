//! Floating-point addition and subtraction.

use serde::{Deserialize, Serialize};

use super::format::{FloatFormat, Subnormals};
use crate::lang::{In, InOption, Out, OutOption, bit, ports};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloatAdd {
    /// Format of operands and result.
    pub format: FloatFormat,
    /// Ranks of registers inside; 0 is combinational.
    pub stages: u32,
    /// What subnormal numbers do.
    pub subnormals: Subnormals,
    /// An input that chooses between sum and difference.
    pub subtract: bool,
    /// Outputs for IEEE 754's exceptions.
    pub flags: bool,
}

ports! {
    /// Ports of [`FloatAdd`].
    pub struct FloatAddPorts(p: &FloatAdd) {
        /// The operands are to be used.
        valid_i: In = bit(),
        /// First operand.
        a_i: In = p.format.ty(),
        /// Second operand.
        b_i: In = p.format.ty(),
        /// The result is a - b instead of a + b.
        subtract_i: InOption = bit().when(p.subtract),
        /// The result is that of the operands `stages` cycles ago.
        valid_o: Out = bit(),
        /// a + b.
        result_o: Out = p.format.ty(),
        /// IEEE 754's invalid operation, with `flags`.
        invalid_o: OutOption = bit().when(p.flags),
        /// The result is an infinity because it was too large, with `flags`.
        overflow_o: OutOption = bit().when(p.flags),
        /// The result is inexact, and subnormal or zero, with `flags`.
        underflow_o: OutOption = bit().when(p.flags),
        /// The result is rounded (or flushed), with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}
