//! Conversion between floating-point formats.

use serde::{Deserialize, Serialize};

use super::format::{FloatFormat, Subnormals};
use crate::lang::{In, Out, OutOption, bit, ports};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloatConvert {
    /// Format of the operand.
    pub from: FloatFormat,
    /// Format of the result.
    pub to: FloatFormat,
    /// Ranks of registers inside; 0 is combinational.
    pub stages: u32,
    /// What subnormal numbers do.
    pub subnormals: Subnormals,
    /// Outputs for IEEE 754's exceptions.
    pub flags: bool,
}

ports! {
    /// Ports of [`FloatConvert`].
    pub struct FloatConvertPorts(p: &FloatConvert) {
        /// The operands are to be used.
        valid_i: In = bit(),
        /// The operand.
        a_i: In = p.from.ty(),
        /// The result is that of the operands `stages` cycles ago.
        valid_o: Out = bit(),
        /// The nearest value of format `to`.
        result_o: Out = p.to.ty(),
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
