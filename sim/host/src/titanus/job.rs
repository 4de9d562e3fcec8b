//! Builders of jobs, with a method for each choice. A value that no field can hold cannot be expressed.

use super::check::{KEYS, STORE, VALUES, operands};
use super::operations::{append, link, load, multiply, restore};
use super::{Caps, Held, check, shared};
use crate::vector::Operand;
use crate::{Descriptor, Refusal, Window};

/// The constants that turn a sum into a result: (sum + bias) x scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// Factor after the bias: the value of a unit of x times the value of a unit of the matrix. For results of int8 it
    /// is divided by the value of a unit of the results.
    pub scale: f32,
    /// Addend, in the units of the sum.
    pub bias: i32,
}

/// Constants as bytes in memory.
#[must_use]
pub fn constants(constants: &[Constant]) -> Vec<u8> {
    constants.iter().flat_map(|one| [one.scale.to_le_bytes(), one.bias.to_le_bytes()].concat()).collect()
}

/// Loads weights or constants, which stay in the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadJob {
    constants: bool,
    sizes: (u32, u32),
    first: u32,
    place: (u16, u16),
    rows: Operand,
}

impl LoadJob {
    /// Loads a matrix of so many inputs and outputs to the row and column of macros `place`. Each input has a row of
    /// int8.
    #[must_use]
    pub fn weights(inputs: u32, outputs: u32, rows: Operand, place: (u16, u16)) -> Self {
        Self { constants: false, sizes: (inputs, outputs), first: 0, place, rows }
    }

    /// Loads `count` constants from an address. `first` is the number of the first one.
    #[must_use]
    pub fn constants(count: u32, address: u64, first: u32) -> Self {
        Self { constants: true, sizes: (1, count), first, place: (0, 0), rows: Operand { address, stride: 0 } }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let fields = [
            (load::ROWS, self.sizes.0.into()),
            (load::COLUMNS, self.sizes.1.into()),
            (load::CONSTANT, self.first.into()),
            (load::CONSTANTS, self.constants.into()),
            (load::FIRST_ROW, self.place.0.into()),
            (load::FIRST_COLUMN, self.place.1.into()),
            (load::STRIDE, self.rows.stride.into()),
            (load::ADDRESS, self.rows.address),
        ];
        Descriptor::checked(load::OPCODE, &fields, |d| operands(d, caps, &Held::default(), window).map(Some))
            .map(|descriptor| shared::load(descriptor, caps))
    }
}

/// The right operand of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Weights, from a row and a column of macros on.
    Store {
        /// The row.
        row: u16,
        /// The column.
        column: u16,
    },
    /// Keys of the context, from a tile on: scores, a result for each token.
    Keys {
        /// The first tile of the head.
        tile: u16,
    },
    /// Values of the context: rows are probabilities, with a result for each channel.
    Values {
        /// The first tile of the head.
        tile: u16,
    },
}

/// A product of rows and a matrix that the core holds: what is multiplied, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows.
    pub rows: u32,
    /// Elements of a row.
    pub inner: u32,
    /// Columns: results of a row.
    pub columns: u32,
    /// The matrix.
    pub matrix: Matrix,
    /// Where the rows are.
    pub x: Operand,
    /// Where the results go.
    pub out: Operand,
    /// Number of the constant of the first result of a row. Each further result has the next one.
    pub constant: u32,
}

/// Rows times a matrix that the core holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductJob {
    product: Product,
    integers: bool,
    relu: bool,
    one_constant: bool,
    exact: bool,
}

impl ProductJob {
    /// Results are fp16.
    #[must_use]
    pub fn new(product: Product) -> Self {
        Self { product, integers: false, relu: false, one_constant: false, exact: false }
    }

    /// Results are int8.
    #[must_use]
    pub fn to_integers(self) -> Self {
        Self { integers: true, ..self }
    }

    /// Negative results are 0.
    #[must_use]
    pub fn relu(self) -> Self {
        Self { relu: true, ..self }
    }

    /// All results have the same constant.
    #[must_use]
    pub fn one_constant(self) -> Self {
        Self { one_constant: true, ..self }
    }

    /// A result that is saturated, infinite or NaN is an error.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The descriptor for a core that holds `held`.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, held: &Held, window: &Window) -> Result<Descriptor, Refusal> {
        let Product { rows, inner, columns, matrix, x, out, constant } = self.product;
        let (matrix, first_row, first_column) = match matrix {
            Matrix::Store { row, column } => (STORE, row, column),
            Matrix::Keys { tile } => (KEYS, tile, 0),
            Matrix::Values { tile } => (VALUES, tile, 0),
        };
        let fields = [
            (multiply::ROWS, rows.into()),
            (multiply::INNER, inner.into()),
            (multiply::COLUMNS, columns.into()),
            (multiply::INTEGERS, self.integers.into()),
            (multiply::RELU, self.relu.into()),
            (multiply::ONE_CONSTANT, self.one_constant.into()),
            (multiply::EXACT, self.exact.into()),
            (multiply::FIRST_ROW, first_row.into()),
            (multiply::FIRST_COLUMN, first_column.into()),
            (multiply::X_STRIDE, x.stride.into()),
            (multiply::OUT_STRIDE, out.stride.into()),
            (multiply::CONSTANT, constant.into()),
            (multiply::X_ADDRESS, x.address),
            (multiply::OUT_ADDRESS, out.address),
            (multiply::MATRIX, matrix),
        ];
        Descriptor::checked(multiply::OPCODE, &fields, |d| operands(d, caps, held, window).map(Some))
            .map(|descriptor| shared::product(descriptor, caps))
    }
}

/// Keys and values of tokens. Keys of all heads are side by side, and so are values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRows {
    /// Tokens.
    pub tokens: u32,
    /// Channels: elements of a key, and of a value.
    pub channels: u32,
    /// Where the keys are.
    pub keys: Operand,
    /// Where the values are.
    pub values: Operand,
}

/// Where the streams of a cache are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Areas {
    /// Address of the stream of keys.
    pub keys: u64,
    /// Address of the stream of values.
    pub values: u64,
    /// Lines of each area, of 64 bytes.
    pub lines: u16,
}

/// What holds for the whole cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// So many first tokens, of the first append and the next ones, give each channel its first level.
    pub prefill: u16,
    /// Pruning threshold of keys.
    pub key_threshold: u8,
    /// Pruning threshold of values.
    pub value_threshold: u8,
    /// Bits of a key.
    pub key_bits: u8,
    /// Bits of a value.
    pub value_bits: u8,
}

/// Appends tokens to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendJob {
    rows: TokenRows,
    position: u32,
    opening: Opening,
    areas: Areas,
    keep: bool,
    exact: bool,
}

impl AppendJob {
    /// Appends tokens after the `position` tokens that the cache has.
    #[must_use]
    pub fn behind(position: u32, rows: TokenRows, areas: Areas) -> Self {
        Self { rows, position, opening: Opening::default(), areas, keep: false, exact: false }
    }

    /// Begins a new cache; cache and context from before end.
    #[must_use]
    pub fn first(rows: TokenRows, opening: Opening, areas: Areas) -> Self {
        Self { opening, ..Self::behind(0, rows, areas) }
    }

    /// The pruned tokens become the context, or follow the tokens of the context.
    #[must_use]
    pub fn keep(self) -> Self {
        Self { keep: true, ..self }
    }

    /// It is an error if an element is out of tolerance and its channel has no level left.
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The descriptor for a core that holds `held`.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, held: &Held, window: &Window) -> Result<Descriptor, Refusal> {
        let TokenRows { tokens, channels, keys, values } = self.rows;
        let Opening { prefill, key_threshold, value_threshold, key_bits, value_bits } = self.opening;
        let fields = [
            (append::TOKENS, tokens.into()),
            (append::CHANNELS, channels.into()),
            (append::POSITION, self.position.into()),
            (append::KEEP, self.keep.into()),
            (append::EXACT, self.exact.into()),
            (append::PREFILL, prefill.into()),
            (append::LINES, self.areas.lines.into()),
            (append::KEY_THRESHOLD, key_threshold.into()),
            (append::VALUE_THRESHOLD, value_threshold.into()),
            (append::KEY_BITS, key_bits.into()),
            (append::VALUE_BITS, value_bits.into()),
            (append::KEY_STRIDE, keys.stride.into()),
            (append::VALUE_STRIDE, values.stride.into()),
            (append::KEY_ADDRESS, keys.address),
            (append::VALUE_ADDRESS, values.address),
            (append::KEY_AREA, self.areas.keys),
            (append::VALUE_AREA, self.areas.values),
        ];
        Descriptor::checked(append::OPCODE, &fields, |d| operands(d, caps, held, window).map(Some))
            .map(|descriptor| shared::append(descriptor, caps))
    }
}

/// Restores all tokens of the cache, and checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreJob {
    rows: TokenRows,
    to_rows: bool,
    areas: Areas,
}

impl RestoreJob {
    /// So many tokens, each of so many channels, become the context.
    #[must_use]
    pub fn to_context(tokens: u32, channels: u32, areas: Areas) -> Self {
        let nowhere = Operand { address: 0, stride: 0 };
        Self { rows: TokenRows { tokens, channels, keys: nowhere, values: nowhere }, to_rows: false, areas }
    }

    /// The tokens go to rows of keys and of values.
    #[must_use]
    pub fn to_rows(rows: TokenRows, areas: Areas) -> Self {
        Self { rows, to_rows: true, areas }
    }

    /// The descriptor for a core that holds `held`.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, held: &Held, window: &Window) -> Result<Descriptor, Refusal> {
        let TokenRows { tokens, channels, keys, values } = self.rows;
        let fields = [
            (restore::TOKENS, tokens.into()),
            (restore::CHANNELS, channels.into()),
            (restore::ROWS, self.to_rows.into()),
            (restore::LINES, self.areas.lines.into()),
            (restore::KEY_STRIDE, keys.stride.into()),
            (restore::VALUE_STRIDE, values.stride.into()),
            (restore::KEY_ADDRESS, keys.address),
            (restore::VALUE_ADDRESS, values.address),
            (restore::KEY_AREA, self.areas.keys),
            (restore::VALUE_AREA, self.areas.values),
        ];
        Descriptor::checked(restore::OPCODE, &fields, |d| operands(d, caps, held, window).map(Some))
            .map(|descriptor| shared::restore(descriptor, caps))
    }
}

/// Waits for tokens of the core before this one, and gives tokens to the next core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkJob {
    awaited: u32,
    given: u32,
    patience: u32,
    last_awaited: bool,
    last_given: bool,
}

impl LinkJob {
    /// Waits for so many tokens. With `last`, the last token is marked: it ends a piece of work.
    #[must_use]
    pub fn wait(awaited: u32, last: bool) -> Self {
        Self { awaited, last_awaited: last, ..Self::default() }
    }

    /// Gives so many tokens. With `last`, the last token is marked: it ends a piece of work.
    #[must_use]
    pub fn give(given: u32, last: bool) -> Self {
        Self::default().then_give(given, last)
    }

    /// Gives so many tokens after the wait.
    #[must_use]
    pub fn then_give(self, given: u32, last: bool) -> Self {
        Self { given, last_given: self.last_given || last, ..self }
    }

    /// Ends the job with an error if a token does not come, or is not taken, in so many cycles. With 0, the default,
    /// the limit is TIMEOUT.
    #[must_use]
    pub fn patience(self, cycles: u32) -> Self {
        Self { patience: cycles, ..self }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let fields = [
            (link::AWAITED, self.awaited.into()),
            (link::GIVEN, self.given.into()),
            (link::PATIENCE, self.patience.into()),
            (link::LAST_AWAITED, self.last_awaited.into()),
            (link::LAST_GIVEN, self.last_given.into()),
        ];
        Descriptor::checked(link::OPCODE, &fields, |d| check(d, caps, &Held::default(), window).map(|()| None))
    }
}
