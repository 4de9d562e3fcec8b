//! The fields of descriptors of `kllm_top` after their header, and their checks in order.

use crate::accelerators::job::{self, Fields};
use crate::accelerators::operand::{are_apart, demand, overlap, places, row, sizes};
use crate::accelerators::vector;
use crate::common::bus::Command;
use crate::common::shell::job_controller::{Limits, code};

use super::Append;
use super::layout::{CODEBOOK_BYTES, CONSTANT_BYTES, index_bytes, integer_bytes, most_inner, panel_bytes, token_bytes};
use super::shape::Shape;

/// Bits of the flags.
const THREE_BITS: u32 = 1 << 0;
const EXACT: u32 = 1 << 12;
/// Bits of the word that chooses the addition.
const ADD: u32 = 1 << 0;

/// A product of tokens, or of integers, and weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatMul {
    /// Channels: results of a token.
    pub channels: u64,
    /// Positions of a token.
    pub inner: u64,
    /// Whether tokens are rows of unsigned 8-bit integers, without heads and outliers.
    pub integers: bool,
    /// Outliers of a token, at most.
    pub outliers: u64,
    /// Whether a result that is infinite or no number is an error.
    pub exact: bool,
    /// The tokens.
    pub tokens: Command,
    /// Panels of the weights.
    pub panels: Command,
    /// Panels of all lanes. All tokens are read once for each of these panels.
    pub passes: u64,
    /// Two factors of each channel.
    pub constants: Command,
    /// The centroids.
    pub codebook: Command,
    /// Where the results go: rows of fp16.
    pub out: Command,
    /// The addends, if any.
    pub addends: Option<Command>,
}

/// Rows of fp16 that become tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantize {
    /// Elements of a row.
    pub columns: u64,
    /// Whether indices have 3 bits; otherwise 4.
    pub three_bits: bool,
    /// Whether an inlier that is infinite or no number is an error.
    pub exact: bool,
    /// How many of the largest elements are outliers.
    pub largest: u64,
    /// How many of the smallest elements are outliers.
    pub smallest: u64,
    /// The numbers.
    pub x: Command,
    /// The midpoints.
    pub codebook: Command,
    /// Where the tokens go.
    pub out: Command,
}

/// An operation whose fields are valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A product of tokens, or of integers, and weights.
    MatMul(MatMul),
    /// Rows of fp16 that become tokens.
    Quantize(Quantize),
    /// A token that is appended to panels.
    Append(Append),
    /// Steps on rows of fp16 numbers.
    Vector(vector::Operation),
}

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        match self {
            Self::MatMul(operation) => &operation.out,
            Self::Quantize(operation) => &operation.out,
            Self::Append(operation) => &operation.lines,
            Self::Vector(operation) => operation.out(),
        }
    }

    fn outs(&self) -> Vec<&Command> {
        match self {
            Self::Append(operation) => operation.outs(),
            _ => vec![self.out()],
        }
    }
}

impl MatMul {
    /// The operation in the fields after a header, for tokens or for `integers`.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>, integers: bool) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let behind = if integers { 116..128 } else { 120..128 };
        let rest = word(48) & !ADD == 0 && fields.are_zero(behind.step_by(4));
        demand(word(44) & !EXACT == 0 && rest, code::RESERVED)?;
        sizes(&[(word(32), 65_535), (word(36), 65_535), (word(40), most_inner(shape))])?;
        demand(word(116) <= 2 * shape.kmax, code::SIZE)?;
        let channels = u64::from(word(36));
        let (rows, inner, outliers) = (word(32).into(), word(40).into(), word(116).into());
        let results = |at| fields.rows(at, rows, 2 * channels);
        let token = if integers { integer_bytes(inner) } else { token_bytes(inner, outliers) };
        let passes = channels.div_ceil(shape.channels());
        let operation = Self {
            channels,
            inner,
            integers,
            outliers,
            exact: word(44) & EXACT != 0,
            tokens: fields.rows([64, 52], rows, token),
            panels: fields.rows([72, 56], passes * u64::from(shape.groups), panel_bytes(&shape.group(), inner)),
            passes,
            constants: row(long(80), CONSTANT_BYTES * channels),
            codebook: row(long(88), CODEBOOK_BYTES),
            out: results([96, 60]),
            addends: (word(48) & ADD != 0).then(|| results([104, 112])),
        };
        let operands = operation.sources().into_iter().chain([&operation.out]).chain(&operation.addends);
        places(operands, limits, shape.vector.address_width)?;
        Ok(operation)
    }

    /// Bytes of the indices, or integers, of a token.
    pub(super) fn nibble_bytes(&self) -> u64 {
        if self.integers { integer_bytes(self.inner) } else { index_bytes(self.inner) }
    }

    /// The operands that are read, except the addends, in the order of the checks.
    fn sources(&self) -> [&Command; 4] {
        [&self.tokens, &self.panels, &self.constants, &self.codebook]
    }

    /// Whether the results replace the addends, element by element. The contract allows this.
    fn in_place(&self) -> bool {
        let same = |rows: &Command| rows.address == self.out.address && rows.stride == self.out.stride;
        self.addends.as_ref().is_some_and(same)
    }

    /// Whether results do not depend on when they are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        let addends = self.addends.iter().filter(|_| !self.in_place());
        are_apart(&self.out) && !self.sources().into_iter().chain(addends).any(|source| overlap(source, &self.out))
    }

    /// Whether the end does not depend on when results are written. Heads of tokens and centroids may be invalid after
    /// a write.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        let looked_at = [(!self.integers).then_some(&self.tokens), Some(&self.codebook)];
        self.is_defined() || (!self.exact && !looked_at.into_iter().flatten().any(|source| overlap(source, &self.out)))
    }
}

impl Quantize {
    /// The operation in the fields after a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer than 24 words.
    pub fn check(shape: &Shape, limits: &Limits, fields: Fields<'_>) -> Result<Self, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        let rest = fields.are_zero([56, 60].into_iter().chain((88..128).step_by(4)));
        demand(word(40) & !(THREE_BITS | EXACT) == 0 && rest, code::RESERVED)?;
        sizes(&[(word(32), 65_535), (word(36), most_inner(shape))])?;
        let (largest, smallest) = (fields.half(44), fields.half(46));
        demand(largest.max(smallest) <= shape.kmax && largest + smallest <= word(36), code::SIZE)?;
        let (rows, columns) = (word(32).into(), word(36).into());
        let (largest, smallest) = (largest.into(), smallest.into());
        let operation = Self {
            columns,
            three_bits: word(40) & THREE_BITS != 0,
            exact: word(40) & EXACT != 0,
            largest,
            smallest,
            x: fields.rows([64, 48], rows, 2 * columns),
            codebook: row(long(72), CODEBOOK_BYTES),
            out: fields.rows([80, 52], rows, token_bytes(columns, largest + smallest)),
        };
        let operands = operation.sources().into_iter().chain([&operation.out]);
        places(operands, limits, shape.vector.address_width)?;
        Ok(operation)
    }

    /// The operands that are read, in the order of the checks.
    fn sources(&self) -> [&Command; 2] {
        [&self.x, &self.codebook]
    }

    /// Whether results do not depend on when they are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        are_apart(&self.out) && !self.sources().iter().any(|source| overlap(source, &self.out))
    }
}
