//! The logistic function, computed by table. Its factor is the result.

use super::table::{Function, FunctionTable};
use crate::format::FloatFormat;

impl FunctionTable {
    /// The constants of 1 / (1 + e^-x) in `format`, which has at most 16 bits.
    #[must_use]
    pub fn sigmoid(format: FloatFormat) -> Self {
        Self::new(Function::Sigmoid, format)
    }
}
