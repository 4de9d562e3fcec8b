//! Builders of jobs, with a method for each choice. A value that no field can hold cannot be expressed.

use super::check::operands;
use super::operations::{append, matmul, quantize, scores};
use super::{Bits, Caps, Codebook};
use crate::vector::Operand;
use crate::{Descriptor, Refusal, Window};

/// A product of tokens, or of integers, and weights: what is multiplied, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Tokens.
    pub tokens: u32,
    /// Channels: results of a token.
    pub channels: u32,
    /// Positions of a token.
    pub inner: u32,
    /// Outliers that there is room for in a token.
    pub outliers: u32,
    /// Where the tokens are.
    pub token_rows: Operand,
    /// Where the panels are.
    pub panels: Operand,
    /// Address of the constants.
    pub constants: u64,
    /// Address of the codebook.
    pub codebook: u64,
}

/// A product whose results are rows of fp16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatMulJob {
    product: Product,
    out: Operand,
    addends: Option<Operand>,
    exact: bool,
    integers: bool,
}

impl MatMulJob {
    /// Rows of fp16 numbers.
    #[must_use]
    pub fn new(product: Product, out: Operand) -> Self {
        Self { product, out, addends: None, exact: false, integers: false }
    }

    /// Adds rows of fp16 numbers. The results may overwrite these rows.
    #[must_use]
    pub fn add_rows(self, addends: Operand) -> Self {
        Self { addends: Some(addends), ..self }
    }

    /// A result that is infinite or NaN is an error.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Multiplies attention scores: tokens are rows of unsigned 8-bit integers, without heads and outliers. The
    /// codebook comes from [`of_integers`](super::Codebook::of_integers).
    #[must_use]
    pub fn of_integers(self) -> Self {
        Self { integers: true, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let Product { tokens, channels, inner, outliers, token_rows, panels, constants, codebook } = self.product;
        let addends = self.addends.unwrap_or(Operand { address: 0, stride: 0 });
        // Both products have the same fields.
        let fields = [
            (matmul::TOKENS, tokens.into()),
            (matmul::CHANNELS, channels.into()),
            (matmul::INNER, inner.into()),
            (matmul::EXACT, self.exact.into()),
            (matmul::ADDS, self.addends.is_some().into()),
            (matmul::TOKEN_STRIDE, token_rows.stride.into()),
            (matmul::PANEL_STRIDE, panels.stride.into()),
            (matmul::OUT_STRIDE, self.out.stride.into()),
            (matmul::TOKEN_ADDRESS, token_rows.address),
            (matmul::PANEL_ADDRESS, panels.address),
            (matmul::CONSTANTS_ADDRESS, constants),
            (matmul::CODEBOOK_ADDRESS, codebook),
            (matmul::OUT_ADDRESS, self.out.address),
            (matmul::ADDEND_ADDRESS, addends.address),
            (matmul::ADDEND_STRIDE, addends.stride.into()),
            (matmul::OUTLIERS, outliers.into()),
        ];
        Descriptor::checked(if self.integers { scores::OPCODE } else { matmul::OPCODE }, &fields, |d| {
            operands(d, caps, window).map(Some)
        })
    }
}

/// Rows that become tokens, and where they are. The tokens have room for all outliers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantize {
    /// Rows: tokens.
    pub rows: u32,
    /// Elements of a row.
    pub columns: u32,
    /// Bits of an index.
    pub bits: Bits,
    /// So many of the largest elements of a row are outliers.
    pub largest: u16,
    /// So many of the smallest elements of a row are outliers.
    pub smallest: u16,
    /// Where the rows of fp16 numbers are.
    pub x: Operand,
    /// Address of the codebook.
    pub codebook: u64,
    /// Where the tokens go.
    pub out: Operand,
}

/// fp16 numbers that become tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantizeJob {
    rows: Quantize,
    exact: bool,
}

impl QuantizeJob {
    /// An element that is infinite or NaN is no error.
    #[must_use]
    pub fn new(rows: Quantize) -> Self {
        Self { rows, exact: false }
    }

    /// An element that is infinite or NaN, and no outlier, is an error.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let Quantize { rows, columns, bits, largest, smallest, x, codebook, out } = self.rows;
        let fields = [
            (quantize::ROWS, rows.into()),
            (quantize::COLUMNS, columns.into()),
            (quantize::THREE_BITS, (bits == Bits::Three).into()),
            (quantize::EXACT, self.exact.into()),
            (quantize::LARGEST, largest.into()),
            (quantize::SMALLEST, smallest.into()),
            (quantize::X_STRIDE, x.stride.into()),
            (quantize::OUT_STRIDE, out.stride.into()),
            (quantize::X_ADDRESS, x.address),
            (quantize::CODEBOOK_ADDRESS, codebook),
            (quantize::OUT_ADDRESS, out.address),
        ];
        Descriptor::checked(quantize::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
    }
}

/// Puts a token without outliers into panels of weights: a cache of keys or of values grows by one token. The operation
/// before may have made the token.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendJob {
    number: usize,
    elements: u32,
    position: bool,
    token: u64,
    panels: Operand,
    scales: u64,
    factors: [f32; 2],
}

impl AppendJob {
    /// The token at `token` becomes a channel of panels whose channels are as long as the token, as for keys of
    /// attention. All panels are at `panels`, and the constants of all channels at `constants`. Each of the channel's
    /// two constants becomes the token's scale times a factor: one for the sum of centroids, one for the sum of
    /// outliers.
    #[must_use]
    pub fn channel(
        (channel, elements): (usize, u32),
        token: u64,
        panels: Operand,
        constants: u64,
        factors: [f32; 2],
    ) -> Self {
        Self { number: channel, elements, position: false, token, panels, scales: constants, factors }
    }

    /// The token at `token` becomes a position of panels with a channel for each of its elements, as for values of
    /// attention. The element of that position, in the row of fp16 at `scales`, becomes the scale of the token.
    #[must_use]
    pub fn position((position, elements): (usize, u32), token: u64, panels: Operand, scales: u64) -> Self {
        Self { number: position, elements, position: true, token, panels, scales, factors: [0.0; 2] }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let in_panel = caps.panel_channels();
        // The hardware gets the address of a channel's own panel, and need not multiply. A place beyond all addresses
        // is beyond the window too.
        let (number, panel) =
            if self.position { (self.number, 0) } else { (self.number % in_panel, self.number / in_panel) };
        let step = |base: u64, bytes: u64| base.saturating_add(bytes.saturating_mul(panel as u64));
        let stride = if self.position { self.panels.stride } else { 0 };
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let fields = [
            (append::NUMBER, number.into()),
            (append::ELEMENTS, self.elements.into()),
            (append::POSITION, self.position.into()),
            (append::PANEL_STRIDE, stride.into()),
            (append::DENSE_FACTOR, self.factors[0].to_bits().into()),
            (append::OUTLIER_FACTOR, self.factors[1].to_bits().into()),
            (append::TOKEN_ADDRESS, self.token),
            (append::PANEL_ADDRESS, step(self.panels.address, self.panels.stride.into())),
            (append::SCALES_ADDRESS, step(self.scales, Codebook::RECORD_BYTES * in_panel as u64)),
        ];
        Descriptor::checked(append::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
    }
}
