//! Floating-point comparison.

use serde::{Deserialize, Serialize};

use super::format::{FloatFormat, Subnormals};
use crate::lang::{In, Out, bit, ports};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloatCompare {
    /// Format of the operands.
    pub format: FloatFormat,
    /// Ranks of registers inside; 0 is combinational.
    pub stages: u32,
    /// What subnormal numbers do.
    pub subnormals: Subnormals,
}

ports! {
    /// Ports of [`FloatCompare`].
    pub struct FloatComparePorts(p: &FloatCompare) {
        /// The operands are to be used.
        valid_i: In = bit(),
        /// First operand.
        a_i: In = p.format.ty(),
        /// Second operand.
        b_i: In = p.format.ty(),
        /// The result is that of the operands `stages` cycles ago.
        valid_o: Out = bit(),
        /// a < b.
        less_o: Out = bit(),
        /// a = b; the zeros are equal.
        equal_o: Out = bit(),
        /// a > b.
        greater_o: Out = bit(),
        /// a or b is a NaN: none of the other three holds.
        unordered_o: Out = bit(),
        /// a comes before b in IEEE 754's totalOrder, which knows -0 < +0 and NaNs at both ends. Never flushed.
        total_less_o: Out = bit(),
    }
}
