//! The fields of descriptors of `kelle_top` after their header, and their checks in order.

use crate::accelerators::job::{self, Fields};
use crate::accelerators::operand::{are_apart, demand, overlap, places, row, sizes};
use crate::accelerators::vector;
use crate::common::bus::Command;
use crate::common::shell::job_controller::{Limits, code};

use super::shape::{CONSTANT_BYTES, HEAD_BYTES, Shape};

/// Bits of the options.
const LATE: u32 = 1 << 1;
const EXACT: u32 = 1 << 12;
/// The largest shift of an importance.
const MOST_SHIFT: u32 = 47;

/// Rows of fp16 times a matrix of weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Columns of the results.
    pub columns: u64,
    /// Elements of a row.
    pub channels: u64,
    /// Whether a saturated activation, or a result that is infinite or no number, is an error.
    pub exact: bool,
    /// The factor of activations, fp32.
    pub quantizer: u32,
    /// The rows.
    pub x: Command,
    /// Panels of the weights.
    pub panels: Command,
    /// Scale and bias of each column.
    pub constants: Command,
    /// Where the results go: rows of fp16.
    pub out: Command,
}

/// Tokens that enter a head, whose queries attend to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    /// The head.
    pub head: usize,
    /// Its query heads.
    pub group: u64,
    /// Elements of a vector.
    pub elements: u64,
    /// Whether values are late: they are read only while the products with keys run.
    pub late: bool,
    /// Slots with recomputed tokens. Keys and values have as many rows before the rows of the new tokens.
    pub again: u32,
    /// Whether a saturated activation, or a score or result that is infinite or no number, is an error.
    pub exact: bool,
    /// Tokens of the head after a step, at most.
    pub budget: usize,
    /// First tokens that stay.
    pub sink: usize,
    /// Most recent tokens that stay. The new token does not count.
    pub window: usize,
    /// Low bits that a product loses before it is added to an importance.
    pub shift: u32,
    /// The factors of queries, keys and values, fp32.
    pub quantizers: [u32; 3],
    /// The factor from a product to a score, fp32.
    pub score_scale: u32,
    /// The factor from a sum of values to a result, fp32.
    pub result_scale: u32,
    /// Queries; all queries of a token are in one row.
    pub queries: Command,
    /// Keys.
    pub keys: Command,
    /// Values.
    pub values: Command,
    /// Where the results go, in the layout of the queries.
    pub out: Command,
}

/// Heads to empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear {
    /// The first head.
    pub first: usize,
    /// Number of heads.
    pub heads: usize,
}

/// A token to give a slot: its key and its value are no longer kept, and are recomputed for each operation of
/// attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recompute {
    /// Its head.
    pub head: usize,
    /// Its position. The oldest token has position 0.
    pub position: usize,
    /// The slot.
    pub slot: u32,
}

/// Cached tokens to write to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// Their head.
    pub head: usize,
    /// Position of the first token. The oldest token has position 0.
    pub first: usize,
    /// Elements of a vector.
    pub elements: u64,
    /// Where the tokens go.
    pub out: Command,
}

/// Saved tokens to bring back to a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restore {
    /// The head.
    pub head: usize,
    /// Elements of a vector.
    pub elements: u64,
    /// Where the tokens are: rows as a save writes them.
    pub saved: Command,
}

/// Intervals in cycles for high bytes and for low bytes, and the threshold of high scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Lowest high score.
    pub threshold: u32,
    /// Intervals of rows with a high score.
    pub high: [u32; 2],
    /// Intervals of rows with a low score.
    pub low: [u32; 2],
}

/// An operation whose fields are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Rows times a matrix of weights.
    Linear(Linear),
    /// Tokens that enter a head, whose queries attend to it.
    Attention(Attention),
    /// Steps on rows of fp16 numbers.
    Vector(vector::Operation),
    /// Heads to empty.
    Clear(Clear),
    /// Refresh intervals, and the threshold of high scores.
    Refresh(Refresh),
    /// Cached tokens to write to memory.
    Save(Save),
    /// Saved tokens to bring back.
    Restore(Restore),
    /// A token to give a slot.
    Recompute(Recompute),
}

/// No bytes at all.
const NOTHING: Command = Command { address: 0, row_bytes: 0, rows: 0, stride: 0 };

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        match self {
            Self::Linear(operation) => &operation.out,
            Self::Attention(operation) => &operation.out,
            Self::Vector(operation) => operation.out(),
            Self::Save(operation) => &operation.out,
            Self::Clear(_) | Self::Refresh(_) | Self::Restore(_) | Self::Recompute(_) => &NOTHING,
        }
    }

    fn outs(&self) -> Vec<&Command> {
        match self {
            Self::Clear(_) | Self::Refresh(_) | Self::Restore(_) | Self::Recompute(_) => Vec::new(),
            _ => vec![self.out()],
        }
    }

    fn repeats(&self) -> bool {
        matches!(self, Self::Clear(_) | Self::Refresh(_))
    }
}

/// Elements of a vector: whole columns of the array.
fn are_elements(shape: &Shape, elements: u32) -> bool {
    elements.is_multiple_of(shape.columns) && (1..=shape.width).contains(&elements)
}

impl Linear {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        demand(word(44) & !EXACT == 0 && fields.are_zero((96..128).step_by(4)), code::RESERVED)?;
        sizes(&[(word(32), shape.tokens), (word(36), 65_535), (word(40), shape.inner)])?;
        let (rows, columns, channels) = (u64::from(word(32)), u64::from(word(36)), u64::from(word(40)));
        let panels = fields.rows([72, 56], columns.div_ceil(shape.panel()), channels * shape.panel());
        let operation = Self {
            columns,
            channels,
            exact: word(44) & EXACT != 0,
            quantizer: word(48),
            x: fields.rows([64, 52], rows, 2 * channels),
            panels,
            constants: row(long(80), CONSTANT_BYTES * columns),
            out: fields.rows([88, 60], rows, 2 * columns),
        };
        places(
            [&operation.x, &operation.panels, &operation.constants, &operation.out],
            limits,
            shape.vector.address_width,
        )?;
        Ok(operation)
    }

    /// Whether results do not depend on when they are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        let sources = [&self.x, &self.panels, &self.constants];
        are_apart(&self.out) && !sources.into_iter().any(|source| overlap(source, &self.out))
    }
}

impl Attention {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let word = |at| fields.word(at);
        let (budget, sink) = (word(52) & 0xffff, word(52) >> 16);
        let (window, shift) = (word(56) & 0xffff, word(56) >> 16 & 0xff);
        let again = word(56) >> 24;
        let may_come = again == 0 || (shape.recompute > 0 && word(48) & LATE == 0);
        demand(word(48) & !(EXACT | LATE) == 0 && may_come, code::RESERVED)?;
        demand(word(32) < shape.heads, code::SIZE)?;
        sizes(&[(word(36), 65_535), (word(40), shape.group), (budget, shape.slots)])?;
        demand(are_elements(shape, word(44)) && sink + window < budget && shift <= MOST_SHIFT, code::SIZE)?;
        demand(again <= shape.recompute && word(36) + again <= 65_535, code::SIZE)?;
        let (tokens, group, elements) = (u64::from(word(36)), u64::from(word(40)), u64::from(word(44)));
        let rows = |at, vectors, more: u32| fields.rows(at, tokens + u64::from(more), 2 * elements * vectors);
        let operation = Self {
            head: word(32) as usize,
            group,
            elements,
            late: word(48) & LATE != 0,
            again,
            exact: word(48) & EXACT != 0,
            budget: budget as usize,
            sink: sink as usize,
            window: window as usize,
            shift,
            quantizers: [word(60), word(64), word(68)],
            score_scale: word(72),
            result_scale: word(76),
            queries: rows([96, 80], group, 0),
            keys: rows([104, 84], 1, again),
            values: rows([112, 88], 1, again),
            out: rows([120, 92], group, 0),
        };
        places(
            [&operation.queries, &operation.keys, &operation.values, &operation.out],
            limits,
            shape.vector.address_width,
        )?;
        Ok(operation)
    }

    /// Whether results, and the head's content after the operation, do not depend on when results are written. Results
    /// may replace the queries.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        let (queries, out) = (&self.queries, &self.out);
        let in_place = queries.address == out.address && queries.stride == out.stride;
        let sources = [&self.keys, &self.values].into_iter().chain((!in_place).then_some(queries));
        are_apart(out) && !sources.into_iter().any(|source| overlap(source, out))
    }
}

impl Clear {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, fields: Fields<'_>) -> Result<Self, u8> {
        let (first, heads) = (fields.word(32), fields.word(36));
        demand(fields.are_zero((40..128).step_by(4)), code::RESERVED)?;
        demand(heads > 0 && u64::from(first) + u64::from(heads) <= shape.heads.into(), code::SIZE)?;
        Ok(Self { first: first as usize, heads: heads as usize })
    }
}

impl Refresh {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, fields: Fields<'_>) -> Result<Self, u8> {
        let word = |at| fields.word(at);
        demand(fields.are_zero((52..128).step_by(4)), code::RESERVED)?;
        let (least, most) = (2 * u64::from(shape.cache_rows), (1 << shape.interval_bits) - 1);
        let intervals = [36, 40, 44, 48].map(word);
        let right = intervals.iter().all(|&interval| (least..=most).contains(&interval.into()));
        demand(i64::from(word(32)) <= shape.top_score() && right, code::SIZE)?;
        Ok(Self { threshold: word(32), high: [intervals[0], intervals[1]], low: [intervals[2], intervals[3]] })
    }
}

impl Recompute {
    /// The operation in the fields after a header, if heads have so many tokens.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, fields: Fields<'_>, tokens: impl Fn(usize) -> u64) -> Result<Self, u8> {
        let [head, position, slot] = [32, 36, 40].map(|at| fields.word(at));
        demand(fields.are_zero((44..128).step_by(4)), code::RESERVED)?;
        demand(head < shape.heads && slot < shape.recompute, code::SIZE)?;
        demand(u64::from(position) < tokens(head as usize), code::SIZE)?;
        Ok(Self { head: head as usize, position: position as usize, slot })
    }
}

impl Save {
    /// The operation in the fields after a header, if heads have so many tokens.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(
        shape: &Shape,
        limits: &Limits,
        fields: Fields<'_>,
        tokens: impl Fn(usize) -> u64,
    ) -> Result<Self, u8> {
        let word = |at| fields.word(at);
        demand(fields.are_zero([52].into_iter().chain((64..128).step_by(4))), code::RESERVED)?;
        let (head, first, count, elements) = (word(32), word(36), word(40), word(44));
        demand(head < shape.heads && count > 0 && are_elements(shape, elements), code::SIZE)?;
        demand(u64::from(first) + u64::from(count) <= tokens(head as usize), code::SIZE)?;
        let row_bytes = HEAD_BYTES + 4 * u64::from(elements);
        let out = fields.rows([56, 48], count.into(), row_bytes);
        places([&out], limits, shape.vector.address_width)?;
        Ok(Self { head: head as usize, first: first as usize, elements: elements.into(), out })
    }
}

impl Restore {
    /// The operation in the fields after a header, if heads have so many tokens.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(
        shape: &Shape,
        limits: &Limits,
        fields: Fields<'_>,
        tokens: impl Fn(usize) -> u64,
    ) -> Result<Self, u8> {
        let word = |at| fields.word(at);
        demand(fields.are_zero([52].into_iter().chain((64..128).step_by(4))), code::RESERVED)?;
        let (head, first, count, elements) = (word(32), word(36), word(40), word(44));
        demand(head < shape.heads && count > 0 && are_elements(shape, elements), code::SIZE)?;
        let all = u64::from(first) + u64::from(count);
        demand(u64::from(first) == tokens(head as usize) && all <= shape.slots.into(), code::SIZE)?;
        let saved = fields.rows([56, 48], count.into(), HEAD_BYTES + 4 * u64::from(elements));
        places([&saved], limits, shape.vector.address_width)?;
        Ok(Self { head: head as usize, elements: elements.into(), saved })
    }
}
