//! The fields of a descriptor of `vector_top` after its header, and their checks in order.

use super::shape::Shape;
use crate::accelerators::job::{self, Fields};
use crate::accelerators::operand::{are_apart, demand, overlap, places, row};
use crate::common::bus::Command;
use crate::common::row::vector_unit::{Norm, Output, Scalars, Steps};
use crate::common::shell::job_controller::{Limits, code};

/// Bits that choose steps, and bits that choose another norm than RMS norm.
pub const STEP_BITS: u32 = 0x4ff;
/// All bits with a meaning: steps, format, causal, exact.
const KNOWN: u32 = STEP_BITS | 3 << 8 | 1 << CAUSAL | 1 << EXACT;
const MULTIPLY: u32 = 3;
const NORM: u32 = 4;
const GAIN: u32 = 5;
/// Two bits: 1 softmax, 2 layer norm.
const KIND: u32 = 6;
const ROTATE: u32 = 10;
const CAUSAL: u32 = 11;
const EXACT: u32 = 12;

/// Optional steps. All other steps are always built in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Softmax.
    pub softmax: bool,
    /// Layer norm.
    pub layer_norm: bool,
    /// Rotation of pairs.
    pub rotary: bool,
}

impl Units {
    const SOFTMAX: u32 = 1 << KIND;
    const LAYER_NORM: u32 = 2 << KIND;
    const ROTARY: u32 = 1 << ROTATE;

    /// Bits of the steps that an accelerator with these units supports.
    #[must_use]
    pub const fn steps(self) -> u32 {
        let (softmax, layer_norm, rotary) = (self.softmax as u32, self.layer_norm as u32, self.rotary as u32);
        let optional = Self::SOFTMAX | Self::LAYER_NORM | Self::ROTARY;
        STEP_BITS & !optional | (softmax * Self::SOFTMAX) | (layer_norm * Self::LAYER_NORM) | (rotary * Self::ROTARY)
    }

    /// The units that bits of the steps need.
    #[must_use]
    pub const fn of(steps: u32) -> Self {
        Self {
            softmax: steps & Self::SOFTMAX != 0,
            layer_norm: steps & Self::LAYER_NORM != 0,
            rotary: steps & Self::ROTARY != 0,
        }
    }
}

/// An operation whose fields are valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// Elements of a row.
    pub columns: u64,
    /// The steps.
    pub steps: Steps,
    /// Whether an overflow is an error.
    pub exact: bool,
    /// Numbers that all rows share.
    pub scalars: Scalars,
    /// The numbers.
    pub x: Command,
    /// The addends, if any.
    pub addends: Option<Command>,
    /// The factors or rotations, if any.
    pub factors: Option<Command>,
    /// The gains of all rows, if any. A layer norm has pairs of gain and bias.
    pub gains: Option<Command>,
    /// Elements of the first row that count in a softmax.
    pub length: u64,
    /// Whether each next row counts one element more.
    pub causal: bool,
    /// Where the results go.
    pub out: Command,
}

/// Bytes of a row of `columns` elements of `width` bits.
fn row_bytes(columns: u64, width: u32) -> u64 {
    (columns * u64::from(width)).div_ceil(8)
}

fn has(steps: u32, bit: u32) -> bool {
    steps >> bit & 1 == 1
}

/// Whether all fields are 0 that must be: reserved fields, and fields of steps that are not used.
fn reserved_are_zero(fields: Fields<'_>) -> bool {
    let (steps, length) = (fields.word(40), fields.word(112));
    let (norm, kind) = (has(steps, NORM), steps >> KIND & 3);
    let softmax = norm && kind == 1;
    let of_the_norm = norm || (kind == 0 && !has(steps, GAIN));
    let of_softmax =
        if softmax { !has(steps, GAIN) && !has(steps, ROTATE) } else { !has(steps, CAUSAL) && length == 0 };
    let one_factor = !(has(steps, ROTATE) && has(steps, MULTIPLY));
    let rest = fields.long(48) >> 40 == 0 && fields.are_zero((116..128).step_by(4));
    steps & !KNOWN == 0 && of_the_norm && of_softmax && one_factor && rest
}

impl Operation {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let bits = word(40);
        demand(reserved_are_zero(fields), code::RESERVED)?;
        let Some(steps) = Steps::of(bits) else { return Err(code::FIELD) };
        demand(bits & STEP_BITS & !shape.steps == 0, code::FIELD)?;
        let (rows, columns, length) = (u64::from(word(32)), u64::from(word(36)), u64::from(word(112)));
        let most = u64::from(shape.lanes) * u64::from(shape.max_beats);
        let softmax = steps.norm && steps.kind == Norm::Softmax;
        let right = (1..=65535).contains(&rows)
            && (1..=most).contains(&columns)
            && !(steps.rotate && columns % 2 == 1)
            && (!softmax || (1..=columns).contains(&length));
        demand(right, code::SIZE)?;
        let rows_at = |at, width| fields.rows(at, rows, row_bytes(columns, width));
        let gain_width = if steps.kind == Norm::LayerNorm { 32 } else { 16 };
        let gains = row(long(96), row_bytes(columns, gain_width));
        let operation = Self {
            columns,
            steps,
            exact: has(bits, EXACT),
            scalars: Scalars { scale: fields.half(44) as u16, quantizer: fields.half(46) as u16, epsilon: long(48) },
            x: rows_at([64, 56], 16),
            addends: steps.add.then(|| rows_at([72, 60], 16)),
            factors: (steps.multiply || steps.rotate).then(|| rows_at([80, 88], 16)),
            gains: steps.gain.then_some(gains),
            length,
            causal: has(bits, CAUSAL),
            out: rows_at([104, 92], steps.output.width()),
        };
        places(operation.sources().chain([&operation.out]), limits, shape.address_width)?;
        Ok(operation)
    }

    /// How many elements of a row the softmax counts.
    #[must_use]
    pub fn length_of(&self, row: u64) -> u64 {
        let more = if self.causal { row } else { 0 };
        (self.length + more).min(self.columns)
    }

    /// The operands that are read, in the order of the checks.
    pub fn sources(&self) -> impl Iterator<Item = &Command> {
        [Some(&self.x), self.addends.as_ref(), self.factors.as_ref(), self.gains.as_ref()].into_iter().flatten()
    }

    /// Whether it works in place, as the contract allows: the results replace the rows of x, row by row.
    fn in_place(&self) -> bool {
        let same = self.x.address == self.out.address && self.x.stride == self.out.stride;
        same && are_apart(&self.out) && self.steps.output == Output::Fp16
    }

    /// Whether the data that is read does not depend on when results are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        let others = self.sources().skip(usize::from(self.in_place()));
        !others.into_iter().any(|source| overlap(source, &self.out))
    }
}

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        &self.out
    }
}
