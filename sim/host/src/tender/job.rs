//! Builders of jobs, with a method for each choice. A value that no field can hold cannot be expressed.

use super::check::operands;
use super::operations::{matmul, pack};
use super::{Caps, Sign};
use crate::vector::{Integer, Operand};
use crate::{Descriptor, Refusal, Window};

/// A product of matrices: its operands, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of the left matrix.
    pub rows: u32,
    /// Columns of the right matrix.
    pub columns: u32,
    /// Channels that panels have.
    pub channels: u32,
    /// Bits of an operand, and of results that are integers.
    pub integer: Integer,
    /// Panels of rows, and their sign.
    pub a: (Operand, Sign),
    /// Panels of columns, and their sign.
    pub b: (Operand, Sign),
    /// Address of the table, and its entries.
    pub table: (u64, u32),
    /// Address of the constants.
    pub constants: u64,
}

/// A product whose sums become numbers or integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatMulJob {
    product: Product,
    out: Operand,
    integers: Option<Sign>,
    relu: bool,
    per_row: bool,
    explicit: bool,
    exact: bool,
}

impl MatMulJob {
    /// Rows of fp16 numbers: sums times scale plus bias of their columns.
    #[must_use]
    pub fn new(product: Product, out: Operand) -> Self {
        Self { product, out, integers: None, relu: false, per_row: false, explicit: false, exact: false }
    }

    /// The constants belong to rows, not to columns.
    #[must_use]
    pub fn constants_per_row(self) -> Self {
        Self { per_row: true, ..self }
    }

    /// Explicit requantization: the sums of each group of channels leave the array on their own, and are added outside.
    /// The results are the same; the operation takes longer.
    #[must_use]
    pub fn explicit(self) -> Self {
        Self { explicit: true, ..self }
    }

    /// Negative numbers become 0.
    #[must_use]
    pub fn relu(self) -> Self {
        Self { relu: true, ..self }
    }

    /// The results are panels of integers: numbers times quantizer, rounded and saturated.
    #[must_use]
    pub fn quantize(self, sign: Sign) -> Self {
        Self { integers: Some(sign), ..self }
    }

    /// A sum that is not exact is an error, and so is a result that saturates, is infinite or NaN.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let Product { rows, columns, channels, integer, a, b, table, constants } = self.product;
        let unsigned = |sign| u64::from(sign == Sign::Unsigned);
        let fields = [
            (matmul::ROWS, rows.into()),
            (matmul::COLUMNS, columns.into()),
            (matmul::CHANNELS, channels.into()),
            (matmul::STEPS, table.1.into()),
            (matmul::INT8, (integer == Integer::Int8).into()),
            (matmul::A_UNSIGNED, unsigned(a.1)),
            (matmul::B_UNSIGNED, unsigned(b.1)),
            (matmul::INTEGERS, self.integers.is_some().into()),
            (matmul::OUT_UNSIGNED, self.integers.map_or(0, unsigned)),
            (matmul::RELU, self.relu.into()),
            (matmul::PER_ROW, self.per_row.into()),
            (matmul::EXPLICIT, self.explicit.into()),
            (matmul::EXACT, self.exact.into()),
            (matmul::A_ADDRESS, a.0.address),
            (matmul::A_STRIDE, a.0.stride.into()),
            (matmul::B_ADDRESS, b.0.address),
            (matmul::B_STRIDE, b.0.stride.into()),
            (matmul::TABLE_ADDRESS, table.0),
            (matmul::CONSTANTS_ADDRESS, constants),
            (matmul::OUT_ADDRESS, self.out.address),
            (matmul::OUT_STRIDE, self.out.stride.into()),
        ];
        Descriptor::checked(matmul::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
    }
}

/// Rows that become panels of integers, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Rows.
    pub rows: u32,
    /// Elements of a row.
    pub columns: u32,
    /// Width of the integers.
    pub integer: Integer,
    /// Whether the integers have a sign.
    pub sign: Sign,
    /// Where the rows of fp16 numbers are.
    pub x: Operand,
    /// Address of the constants.
    pub constants: u64,
    /// Where the panels go.
    pub out: Operand,
}

/// fp16 numbers that become panels of integers: (number x scale + bias) x quantizer, with the constants of its column,
/// rounded and saturated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackJob {
    rows: Pack,
    relu: bool,
    exact: bool,
}

impl PackJob {
    /// Negative numbers stay, and a result that saturates or is NaN is no error.
    #[must_use]
    pub fn new(rows: Pack) -> Self {
        Self { rows, relu: false, exact: false }
    }

    /// Negative numbers become 0 before they are quantized.
    #[must_use]
    pub fn relu(self) -> Self {
        Self { relu: true, ..self }
    }

    /// A result that saturates or is NaN is an error.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let Pack { rows, columns, integer, sign, x, constants, out } = self.rows;
        let fields = [
            (pack::ROWS, rows.into()),
            (pack::COLUMNS, columns.into()),
            (pack::INT8, (integer == Integer::Int8).into()),
            (pack::OUT_UNSIGNED, (sign == Sign::Unsigned).into()),
            (pack::RELU, self.relu.into()),
            (pack::EXACT, self.exact.into()),
            (pack::X_ADDRESS, x.address),
            (pack::X_STRIDE, x.stride.into()),
            (pack::CONSTANTS_ADDRESS, constants),
            (pack::OUT_ADDRESS, out.address),
            (pack::OUT_STRIDE, out.stride.into()),
        ];
        Descriptor::checked(pack::OPCODE, &fields, |d| operands(d, caps, window).map(Some))
    }
}
