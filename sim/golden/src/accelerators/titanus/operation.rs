//! The fields of descriptors of `titanus_core` after their header, and their checks in order.

use crate::accelerators::job::{self, Fields};
use crate::accelerators::operand::{are_apart, demand, overlap, places, sizes};
use crate::accelerators::vector;
use crate::common::bus::Command;
use crate::common::shell::job_controller::{Limits, code};
use crate::common::shell::job_link::Link;

use super::shape::Shape;

/// Bits of the options.
const CONSTANTS: u32 = 1 << 0;
const INTEGERS: u32 = 1 << 0;
const RELU: u32 = 1 << 1;
const ONE_CONSTANT: u32 = 1 << 2;
const KEEP: u32 = 1 << 0;
const ROWS: u32 = 1 << 0;
const EXACT: u32 = 1 << 12;
const MOST_ROWS: u32 = 65_535;
/// The rows that an operation without results writes.
const NOWHERE: Command = Command { address: 0, row_bytes: 0, rows: 0, stride: 0 };
/// Bytes of a line, and of a block of a stream.
pub(super) const LINE: u64 = 64;

/// A load of weights or constants from memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Whether constants are loaded, not weights.
    pub constants: bool,
    /// Outputs of the matrix, or number of constants.
    pub columns: u64,
    /// The first constant.
    pub first: u32,
    /// The first row of macros.
    pub first_row: u32,
    /// The first column of macros.
    pub first_column: u32,
    /// The rows that are read.
    pub rows: Command,
}

/// The matrix of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Weights, from a row and a column of macros on.
    Store {
        /// The first row.
        row: u32,
        /// The first column.
        column: u32,
    },
    /// Keys of the context, from a tile on: a result for each token.
    Keys {
        /// The tile.
        tile: u32,
    },
    /// Values of the context: a result for each channel.
    Values {
        /// The first tile.
        tile: u32,
    },
}

/// A product of rows and a matrix on the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The matrix.
    pub matrix: Matrix,
    /// Elements of a row.
    pub inner: u64,
    /// Results of a row.
    pub columns: u64,
    /// Whether results are int8; otherwise fp16.
    pub integers: bool,
    /// Whether negative results are 0.
    pub relu: bool,
    /// Whether all results use the first constant.
    pub one_constant: bool,
    /// Whether an overflow is an error.
    pub exact: bool,
    /// The first constant.
    pub constant: u32,
    /// The rows.
    pub x: Command,
    /// Where the results go.
    pub out: Command,
}

/// Keys, or values, of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Pruning threshold, at position 0.
    pub threshold: u32,
    /// Width of a quantized value, at position 0.
    pub bits: u32,
    /// Rows of int8, one a token.
    pub rows: Command,
    /// The area.
    pub area: Command,
}

/// Tokens to prune, quantize and pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// Tokens.
    pub tokens: u32,
    /// Channels of a token.
    pub channels: u32,
    /// Tokens of the cache before the append.
    pub position: u32,
    /// Tokens that give the initial levels, from this append and later ones; at position 0.
    pub prefill: u32,
    /// Whether the pruned tokens become the context, or extend it.
    pub keep: bool,
    /// Whether an element without a level left is an error.
    pub exact: bool,
    /// Keys, values.
    pub sides: [Side; 2],
}

/// Streams to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// Tokens.
    pub tokens: u32,
    /// Channels of a token.
    pub channels: u32,
    /// The areas of keys and values.
    pub areas: [Command; 2],
    /// Where the tokens go, if not to the context.
    pub rows: Option<[Command; 2]>,
}

/// An operation whose fields are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A load of weights or constants.
    Load(Load),
    /// A product with a matrix on the chip.
    Product(Product),
    /// Tokens to append to the cache.
    Append(Append),
    /// A restore of the cache.
    Restore(Restore),
    /// Steps on rows of fp16 numbers.
    Vector(vector::Operation),
    /// Tokens to take and to give.
    Link(Link),
}

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        match self {
            // A load writes nothing.
            Self::Load(operation) => &operation.rows,
            Self::Product(operation) => &operation.out,
            Self::Append(operation) => &operation.sides[0].area,
            Self::Restore(operation) => operation.rows.as_ref().map_or(&operation.areas[0], |rows| &rows[0]),
            Self::Vector(operation) => operation.out(),
            Self::Link(_) => &NOWHERE,
        }
    }

    fn outs(&self) -> Vec<&Command> {
        match self {
            Self::Load(_) | Self::Link(_) => Vec::new(),
            Self::Append(operation) => operation.sides.iter().map(|side| &side.area).collect(),
            Self::Restore(operation) => operation.rows.iter().flatten().collect(),
            Self::Product(_) | Self::Vector(_) => vec![self.out()],
        }
    }
}

/// The most inputs and outputs of a matrix from a place in the store on.
fn matrix_sizes(shape: &Shape, row: u32, column: u32) -> (u32, u32) {
    (shape.rows.saturating_sub(row) * shape.inputs, shape.columns.saturating_sub(column) * shape.outputs)
}

impl Load {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let word = |at| fields.word(at);
        let constants = word(44) & CONSTANTS != 0;
        let unused = if constants { 48 } else { 40 };
        let rest = [56, 60, unused].into_iter().chain((72..128).step_by(4));
        demand(word(44) & !CONSTANTS == 0 && fields.are_zero(rest), code::RESERVED)?;
        demand(shape.constants > 0 && (constants || shape.rows > 0), code::FIELD)?;
        let (first_row, first_column) = (fields.half(48), fields.half(50));
        let most = if constants {
            (1, shape.constants.saturating_sub(word(40)))
        } else {
            matrix_sizes(shape, first_row, first_column)
        };
        sizes(&[(word(32), most.0), (word(36), most.1)])?;
        let columns = u64::from(word(36));
        let rows = fields.rows([64, 52], word(32).into(), if constants { 8 * columns } else { columns });
        places([&rows], limits, shape.vector.address_width)?;
        Ok(Self { constants, columns, first: word(40), first_row, first_column, rows })
    }
}

impl Product {
    /// The operation in the fields after a header, with so many tokens in the context.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, tokens: u32, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let word = |at| fields.word(at);
        let (options, kind) = (word(44), word(80));
        let reserved = options & !(INTEGERS | RELU | ONE_CONSTANT | EXACT) == 0
            && fields.are_zero((84..128).step_by(4))
            && (kind == 0 || fields.half(50) == 0);
        demand(reserved, code::RESERVED)?;
        let (row, column) = (fields.half(48), fields.half(50));
        let channels = shape.tiles.saturating_sub(row) * shape.lanes;
        let (matrix, built, most) = match kind {
            0 => (Matrix::Store { row, column }, shape.rows > 0, matrix_sizes(shape, row, column)),
            1 => (Matrix::Keys { tile: row }, shape.context > 0, (channels, tokens)),
            2 => (Matrix::Values { tile: row }, shape.context > 0, (tokens, channels)),
            _ => return Err(code::FIELD),
        };
        demand(built && shape.constants > 0, code::FIELD)?;
        sizes(&[(word(32), MOST_ROWS), (word(36), most.0), (word(40), most.1)])?;
        let one_constant = options & ONE_CONSTANT != 0;
        let constants = u64::from(if one_constant { 1 } else { word(40) });
        demand(u64::from(word(60)) + constants <= shape.constants.into(), code::SIZE)?;
        let (inner, columns, rows) = (u64::from(word(36)), u64::from(word(40)), word(32).into());
        let integers = options & INTEGERS != 0;
        let x_bytes = if matches!(matrix, Matrix::Values { .. }) { 2 } else { 1 };
        let operation = Self {
            matrix,
            inner,
            columns,
            integers,
            relu: options & RELU != 0,
            one_constant,
            exact: options & EXACT != 0,
            constant: word(60),
            x: fields.rows([64, 52], rows, x_bytes * inner),
            out: fields.rows([72, 56], rows, if integers { columns } else { 2 * columns }),
        };
        places([&operation.x, &operation.out], limits, shape.vector.address_width)?;
        Ok(operation)
    }

    /// Whether results do not depend on when they are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        are_apart(&self.out) && !overlap(&self.x, &self.out)
    }
}

/// An area of so many lines.
fn area(address: u64, lines: u32) -> Command {
    Command { address, row_bytes: LINE, rows: lines.into(), stride: LINE }
}

impl Append {
    /// The operation in the fields after a header, with so many tokens in the cache and in the context.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(
        shape: &Shape,
        (cached, context): (u32, u32),
        limits: &Limits,
        fields: Fields<'_>,
    ) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let (options, position) = (word(44), word(40));
        let (prefill, lines) = (fields.half(48), fields.half(50));
        let of_the_begin = position == 0 || (prefill == 0 && word(52) == 0);
        let rest = fields.are_zero((96..128).step_by(4));
        demand(options & !(KEEP | EXACT) == 0 && of_the_begin && rest, code::RESERVED)?;
        let keep = options & KEEP != 0;
        demand(shape.lanes > 0 && (!keep || shape.context > 0), code::FIELD)?;
        let [th_k, th_v, bits_k, bits_v] = word(52).to_le_bytes().map(u32::from);
        demand(position > 0 || [bits_k, bits_v].iter().all(|bits| (2..=8).contains(bits)), code::FIELD)?;
        let (tokens, channels) = (word(32), word(36));
        sizes(&[(tokens, MOST_ROWS), (channels, shape.channels() as u32), (lines, MOST_ROWS)])?;
        let all = u64::from(position) + u64::from(tokens);
        let fits = all <= MOST_ROWS.into()
            && (position == 0 || position == cached)
            && prefill <= shape.buffer
            && (!keep || ((position == 0 || position == context) && all <= shape.context.into()));
        demand(fits, code::SIZE)?;
        let rows = |at| fields.rows(at, tokens.into(), channels.into());
        let side = |threshold, bits, rows, at| Side { threshold, bits, rows, area: at };
        let sides = [
            side(th_k, bits_k, rows([64, 56]), area(long(80), lines)),
            side(th_v, bits_v, rows([72, 60]), area(long(88), lines)),
        ];
        let operands = sides.iter().map(|side| &side.rows).chain(sides.iter().map(|side| &side.area));
        places(operands, limits, shape.vector.address_width)?;
        Ok(Self { tokens, channels, position, prefill, keep, exact: options & EXACT != 0, sides })
    }

    /// Whether the end does not depend on when the operation writes.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        !self.sides.iter().any(|side| self.sides.iter().any(|other| overlap(&side.rows, &other.area)))
    }

    /// Whether the results do not depend on when the operation writes.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        self.is_certain() && !overlap(&self.sides[0].area, &self.sides[1].area)
    }
}

impl Restore {
    /// The operation in the fields after a header. `cached` tokens can be restored, and their longer stream has
    /// `blocks` whole blocks.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, (cached, blocks): (u32, u64), limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let to_rows = word(44) & ROWS != 0;
        let unused = (56..80).step_by(4).filter(|_| !to_rows);
        let rest = [40, 52].into_iter().chain((96..128).step_by(4)).chain(unused);
        demand(word(44) & !ROWS == 0 && fields.half(48) == 0 && fields.are_zero(rest), code::RESERVED)?;
        demand(shape.lanes > 0 && (to_rows || shape.context > 0), code::FIELD)?;
        let (tokens, channels, lines) = (word(32), word(36), fields.half(50));
        sizes(&[(tokens, cached), (channels, shape.channels() as u32), (lines, MOST_ROWS)])?;
        demand(tokens == cached && blocks <= lines.into(), code::SIZE)?;
        demand(to_rows || tokens <= shape.context, code::SIZE)?;
        let rows = |at| fields.rows(at, tokens.into(), channels.into());
        let operation = Self {
            tokens,
            channels,
            areas: [area(long(80), lines), area(long(88), lines)],
            rows: to_rows.then(|| [rows([64, 56]), rows([72, 60])]),
        };
        let operands = operation.areas.iter().chain(operation.rows.iter().flatten());
        places(operands, limits, shape.vector.address_width)?;
        Ok(operation)
    }

    /// Whether the end does not depend on when the operation writes.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        let mut rows = self.rows.iter().flatten();
        !rows.any(|rows| self.areas.iter().any(|area| overlap(rows, area)))
    }

    /// Whether the results do not depend on when the operation writes.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        let apart = |rows: &[Command; 2]| rows.iter().all(are_apart) && !overlap(&rows[0], &rows[1]);
        self.is_certain() && self.rows.as_ref().is_none_or(apart)
    }
}
