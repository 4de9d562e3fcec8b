//! A descriptor of `vector_top` behind its header: fields, and the checks in their order.

use crate::common::bus::Command;
use crate::common::row::vector_unit::{Output, Scalars, Steps};
use crate::common::shell::job_controller::{Limits, code};
use crate::systems::job::{self, Fields};
use crate::systems::operand::{self, are_apart, overlap};

use super::Shape;

/// Bits of the steps that are steps.
pub const STEP_BITS: u32 = 0x3f;
/// Bits of the steps that mean anything: steps, format, exact.
const KNOWN: u32 = STEP_BITS | 3 << 8 | 1 << 12;

/// An operation whose fields are all right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Elements of a row.
    pub columns: u64,
    /// What is done.
    pub steps: Steps,
    /// An overflow is an error.
    pub exact: bool,
    /// Numbers that all rows share.
    pub scalars: Scalars,
    /// The numbers.
    pub x: Command,
    /// What is added, if anything.
    pub addends: Option<Command>,
    /// What the numbers are multiplied by, if anything.
    pub factors: Option<Command>,
    /// The gains of all rows, if there are any.
    pub gains: Option<Command>,
    /// Where the results go.
    pub out: Command,
}

/// Bytes of a row of `columns` elements of `width` bits.
fn row_bytes(columns: u64, width: u32) -> u64 {
    (columns * u64::from(width)).div_ceil(8)
}

impl Operation {
    /// The operation in the fields behind a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let (bits, epsilon) = (word(40), long(48));
        let zeros = fields.are_zero((112..128).step_by(4));
        let gain_alone = bits >> 5 & 1 == 1 && bits >> 4 & 1 == 0;
        if bits & !KNOWN != 0 || gain_alone || epsilon >> 40 != 0 || !zeros {
            return Err(code::RESERVED);
        }
        let Some(steps) = Steps::of(bits) else { return Err(code::FIELD) };
        if bits & STEP_BITS & !shape.steps != 0 {
            return Err(code::FIELD);
        }
        let (rows, columns) = (u64::from(word(32)), u64::from(word(36)));
        let most = u64::from(shape.lanes) * u64::from(shape.max_beats);
        if !(1..=65535).contains(&rows) || !(1..=most).contains(&columns) {
            return Err(code::SIZE);
        }
        let rows_at = |address: usize, stride: usize, width: u32| Command {
            address: long(address),
            row_bytes: row_bytes(columns, width),
            rows,
            stride: word(stride).into(),
        };
        let gains = Command { address: long(96), row_bytes: row_bytes(columns, 16), rows: 1, stride: 0 };
        let operation = Self {
            columns,
            steps,
            exact: bits >> 12 & 1 == 1,
            scalars: Scalars { scale: word(44) as u16, quantizer: (word(44) >> 16) as u16, epsilon },
            x: rows_at(64, 56, 16),
            addends: steps.add.then(|| rows_at(72, 60, 16)),
            factors: steps.multiply.then(|| rows_at(80, 88, 16)),
            gains: steps.gain.then_some(gains),
            out: rows_at(104, 92, steps.output.width()),
        };
        for rows in operation.sources().chain([&operation.out]) {
            operand::check(rows, limits, shape.address_width)?;
        }
        Ok(operation)
    }

    /// What is read, in the order of the checks.
    pub fn sources(&self) -> impl Iterator<Item = &Command> {
        [Some(&self.x), self.addends.as_ref(), self.factors.as_ref(), self.gains.as_ref()].into_iter().flatten()
    }

    /// Whether it works in place, as the contract allows it: on the rows of x, row by row.
    fn in_place(&self) -> bool {
        let same = self.x.address == self.out.address && self.x.stride == self.out.stride;
        same && are_apart(&self.out) && self.steps.output == Output::Fp16
    }

    /// Whether what is read does not depend on when results are written.
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
