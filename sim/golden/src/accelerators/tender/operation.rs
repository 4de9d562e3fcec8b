//! The fields of descriptors of `tender_top` after their header, and their checks in order.

use crate::accelerators::job::{self, Fields};
use crate::accelerators::operand::{are_apart, demand, overlap, places, row, sizes};
use crate::accelerators::vector;
use crate::common::bus::Command;
use crate::common::shell::job_controller::{Limits, code};

use super::Layout;
use super::shape::Shape;

/// Bits of the flags.
const INT8: u32 = 1 << 0;
const A_UNSIGNED: u32 = 1 << 1;
const B_UNSIGNED: u32 = 1 << 2;
const INTEGERS: u32 = 1 << 4;
const OUT_UNSIGNED: u32 = 1 << 5;
const RELU: u32 = 1 << 6;
const PER_ROW: u32 = 1 << 7;
const EXPLICIT: u32 = 1 << 8;
const EXACT: u32 = 1 << 12;

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// Rows of fp16 numbers.
    Fp16,
    /// Panels of integers in the width of the mode.
    Integers {
        /// In two's complement.
        signed: bool,
    },
}

/// How each number is processed, and where results go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finish {
    /// Rows of the matrix.
    pub rows: u64,
    /// Columns of the matrix.
    pub columns: u64,
    /// The layout of panels.
    pub layout: Layout,
    /// Whether negative numbers become 0.
    pub relu: bool,
    /// Whether each row has its constants; otherwise each column.
    pub per_row: bool,
    /// The format of results.
    pub output: Output,
    /// Whether an overflow is an error.
    pub exact: bool,
    /// Scale, bias and quantizer of each row or column.
    pub constants: Command,
    /// Where the results go.
    pub out: Command,
}

/// A product of matrices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatMul {
    /// Channels that the panels have.
    pub channels: u64,
    /// Entries of the table.
    pub steps: u64,
    /// Panels of the rows.
    pub a: Command,
    /// Whether they are in two's complement.
    pub a_signed: bool,
    /// Panels of the columns.
    pub b: Command,
    /// Whether they are in two's complement.
    pub b_signed: bool,
    /// The order of the channels, and where sums are doubled.
    pub table: Command,
    /// Whether each doubling ends a part of the sum. Parts are then added after the array.
    pub explicit: bool,
    /// How sums become results.
    pub finish: Finish,
}

/// fp16 numbers that become integers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pack {
    /// The numbers.
    pub x: Command,
    /// How numbers become results.
    pub finish: Finish,
}

/// An operation whose fields are valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// A product of matrices.
    MatMul(MatMul),
    /// fp16 numbers that become integers.
    Pack(Pack),
    /// Steps on rows of fp16 numbers.
    Vector(vector::Operation),
}

impl Operation {
    /// Steps of the array with a product. If the table names each channel once, each channel of each tile has one.
    #[must_use]
    pub fn products(&self) -> u64 {
        match self {
            Self::MatMul(product) => product.a.rows * product.b.rows * product.channels,
            Self::Pack(_) | Self::Vector(_) => 0,
        }
    }
}

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        match self {
            Self::MatMul(operation) => &operation.finish.out,
            Self::Pack(operation) => &operation.finish.out,
            Self::Vector(operation) => operation.out(),
        }
    }
}

/// The command for `lines` lines in panels, with `word` bytes for each of `inner` indices.
fn panels(lines: u64, in_panel: u64, inner: u64, word: u64, address: u64, stride: u32) -> Command {
    Command { address, row_bytes: inner * word, rows: lines.div_ceil(in_panel), stride: stride.into() }
}

impl Finish {
    fn of(shape: &Shape, fields: Fields<'_>, output: Output) -> Self {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let (rows, columns, flags) = (u64::from(word(32)), u64::from(word(36)), word(48));
        let layout = shape.layout(flags & INT8 != 0);
        let per_row = flags & PER_ROW != 0;
        let out = match output {
            Output::Fp16 => fields.rows([104, 96], rows, 2 * columns),
            Output::Integers { .. } => panels(rows, layout.rows, columns, layout.row_word_bytes(), long(104), word(96)),
        };
        Self {
            rows,
            columns,
            layout,
            relu: flags & RELU != 0,
            per_row,
            output,
            exact: flags & EXACT != 0,
            constants: row(long(88), 16 * if per_row { rows } else { columns }),
            out,
        }
    }

    /// Whether no byte that is read is written, and no byte is written twice.
    fn is_apart(&self, sources: &[&Command]) -> bool {
        are_apart(&self.out) && !sources.iter().any(|source| overlap(source, &self.out))
    }
}

/// Flags and words that must be 0, then the mode.
fn zeros(shape: &Shape, fields: Fields<'_>, known: u32, words: &[usize]) -> Result<(), u8> {
    let flags = fields.word(48);
    let ends = [52, 100].into_iter().chain((112..128).step_by(4));
    demand(flags & !known == 0 && fields.are_zero(ends.chain(words.iter().copied())), code::RESERVED)?;
    demand(flags & INT8 == 0 || shape.int8, code::FIELD)
}

fn signed(flags: u32, bit: u32) -> bool {
    flags & bit == 0
}

impl MatMul {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let known = INT8 | A_UNSIGNED | B_UNSIGNED | INTEGERS | OUT_UNSIGNED | RELU | PER_ROW | EXACT;
        let known = if shape.explicit { known | EXPLICIT } else { known };
        zeros(shape, fields, known, &[])?;
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        sizes(&[(word(32), 65535), (word(36), 65535), (word(40), shape.depth), (word(44), shape.steps)])?;
        let flags = word(48);
        let integers = Output::Integers { signed: signed(flags, OUT_UNSIGNED) };
        let finish = Finish::of(shape, fields, if flags & INTEGERS == 0 { Output::Fp16 } else { integers });
        let (layout, channels, steps) = (finish.layout, u64::from(word(40)), u64::from(word(44)));
        let operation = Self {
            channels,
            steps,
            a: panels(finish.rows, layout.rows, channels, layout.row_word_bytes(), long(64), word(56)),
            a_signed: signed(flags, A_UNSIGNED),
            b: panels(finish.columns, layout.columns, channels, layout.column_word_bytes(), long(72), word(60)),
            b_signed: signed(flags, B_UNSIGNED),
            table: row(long(80), 2 * steps),
            explicit: flags & EXPLICIT != 0,
            finish,
        };
        let operands = operation.sources().into_iter().chain([&operation.finish.out]);
        places(operands, limits, shape.vector.address_width)?;
        Ok(operation)
    }

    /// The operands that are read, in the order of the checks.
    fn sources(&self) -> [&Command; 4] {
        [&self.a, &self.b, &self.table, &self.finish.constants]
    }

    /// Whether results do not depend on when they are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.finish.is_apart(&self.sources())
    }

    /// Whether the end does not depend on when results are written.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.is_defined() || (!self.finish.exact && !overlap(&self.table, &self.finish.out))
    }
}

impl Pack {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        zeros(shape, fields, INT8 | OUT_UNSIGNED | RELU | EXACT, &[40, 44, 60, 72, 76, 80, 84])?;
        let word = |at| fields.word(at);
        sizes(&[(word(32), 65535), (word(36), 65535)])?;
        let finish = Finish::of(shape, fields, Output::Integers { signed: signed(word(48), OUT_UNSIGNED) });
        let x = fields.rows([64, 56], finish.rows, 2 * finish.columns);
        let operation = Self { x, finish };
        let operands = operation.sources().into_iter().chain([&operation.finish.out]);
        places(operands, limits, shape.vector.address_width)?;
        Ok(operation)
    }

    /// The operands that are read, in the order of the checks.
    fn sources(&self) -> [&Command; 2] {
        [&self.x, &self.finish.constants]
    }

    /// Whether results do not depend on when they are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.finish.is_apart(&self.sources())
    }
}
