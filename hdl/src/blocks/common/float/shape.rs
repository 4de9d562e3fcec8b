//! What a unit is from outside: types, exceptions, places for registers.

use std::borrow::Cow;

use super::exceptions::Exceptions;
use super::format::FloatFormat;
use crate::lang::{Rules, Type};

/// What the skeleton needs to know of a unit with its parameters.
pub struct Shape {
    /// Type of an operand.
    pub operand: Type,
    /// Type of the result.
    pub result: Type,
    /// Exceptions that have an output.
    pub raises: Exceptions,
    /// Ranks of registers, the latency in cycles.
    pub stages: u32,
    /// Levels of logic of the parts between the places where registers may stand.
    pub depths: Cow<'static, [u32]>,
}

impl Shape {
    /// Operands and result of one format.
    pub(super) fn new(format: FloatFormat, stages: u32, depths: impl Into<Cow<'static, [u32]>>) -> Self {
        Self { operand: format.ty(), result: format.ty(), raises: &[], stages, depths: depths.into() }
    }

    /// With outputs for these exceptions, if `flags` asks for them.
    pub(super) fn raising(self, flags: bool, exceptions: Exceptions) -> Self {
        Self { raises: if flags { exceptions } else { &[] }, ..self }
    }
}

/// Demands a format of which all numbers can be tried: of units that compute by tables.
pub(super) fn demand_16_bits(rules: &mut Rules, format: FloatFormat) {
    rules.demand(format.width() <= 16, "format", format.name(), "a format of at most 16 bits");
}

/// Demands at most `most` ranks: of units whose depth depends on the format.
pub(super) fn demand_stages(rules: &mut Rules, format: FloatFormat, stages: u32, most: u32) {
    rules.demand(stages <= most, "stages", stages, format!("0 to {most} of {}", format.name()));
}
