//! Builders of jobs, with a method for each choice. A value that no field can hold cannot be expressed.

use super::check::{KEYS, STORE, VALUES};
use super::operations::{append, link, load, multiply, restore};
use super::{Caps, Held, check};
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
        Descriptor::checked(load::OPCODE, &fields, |d| check(d, caps, &Held::default(), window))
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

/// Rows times a matrix that the core holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductJob {
    sizes: [u32; 3],
    matrix: Matrix,
    x: Operand,
    out: Operand,
    constant: u32,
    integers: bool,
    relu: bool,
    one_constant: bool,
    exact: bool,
}

impl ProductJob {
    /// `sizes`: rows, elements of a row, results of a row. Results are fp16. The first result of a row has the constant
    /// `constant`, and each further result the next one.
    #[must_use]
    pub fn new(sizes: [u32; 3], matrix: Matrix, x: Operand, out: Operand, constant: u32) -> Self {
        let (integers, relu, one_constant, exact) = (false, false, false, false);
        Self { sizes, matrix, x, out, constant, integers, relu, one_constant, exact }
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
        let (matrix, first_row, first_column) = match self.matrix {
            Matrix::Store { row, column } => (STORE, row, column),
            Matrix::Keys { tile } => (KEYS, tile, 0),
            Matrix::Values { tile } => (VALUES, tile, 0),
        };
        let fields = [
            (multiply::ROWS, self.sizes[0].into()),
            (multiply::INNER, self.sizes[1].into()),
            (multiply::COLUMNS, self.sizes[2].into()),
            (multiply::INTEGERS, self.integers.into()),
            (multiply::RELU, self.relu.into()),
            (multiply::ONE_CONSTANT, self.one_constant.into()),
            (multiply::EXACT, self.exact.into()),
            (multiply::FIRST_ROW, first_row.into()),
            (multiply::FIRST_COLUMN, first_column.into()),
            (multiply::X_STRIDE, self.x.stride.into()),
            (multiply::OUT_STRIDE, self.out.stride.into()),
            (multiply::CONSTANT, self.constant.into()),
            (multiply::X_ADDRESS, self.x.address),
            (multiply::OUT_ADDRESS, self.out.address),
            (multiply::MATRIX, matrix),
        ];
        Descriptor::checked(multiply::OPCODE, &fields, |d| check(d, caps, held, window))
    }
}

/// Appends tokens to the cache. Keys and values of all heads are side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendJob {
    sizes: (u32, u32),
    position: u32,
    prefill: u16,
    thresholds: [u8; 2],
    bits: [u8; 2],
    rows: [Operand; 2],
    areas: [u64; 2],
    lines: u16,
    keep: bool,
    exact: bool,
}

impl AppendJob {
    /// Appends tokens after the `position` tokens that the cache has. `sizes`: tokens, channels. `rows`: keys, values.
    #[must_use]
    pub fn behind(position: u32, sizes: (u32, u32), rows: [Operand; 2], areas: [u64; 2], lines: u16) -> Self {
        let (prefill, thresholds, bits, keep, exact) = (0, [0; 2], [0; 2], false, false);
        Self { sizes, position, prefill, thresholds, bits, rows, areas, lines, keep, exact }
    }

    /// Begins a new cache; cache and context from before end. The first `prefill` tokens, of this append and the next
    /// ones, give each channel its first level. Thresholds and widths of keys and of values hold for the whole cache.
    #[must_use]
    pub fn first(
        sizes: (u32, u32),
        prefill: u16,
        (thresholds, bits): ([u8; 2], [u8; 2]),
        rows: [Operand; 2],
        (areas, lines): ([u64; 2], u16),
    ) -> Self {
        Self { prefill, thresholds, bits, ..Self::behind(0, sizes, rows, areas, lines) }
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
        let fields = [
            (append::TOKENS, self.sizes.0.into()),
            (append::CHANNELS, self.sizes.1.into()),
            (append::POSITION, self.position.into()),
            (append::KEEP, self.keep.into()),
            (append::EXACT, self.exact.into()),
            (append::PREFILL, self.prefill.into()),
            (append::LINES, self.lines.into()),
            (append::KEY_THRESHOLD, self.thresholds[0].into()),
            (append::VALUE_THRESHOLD, self.thresholds[1].into()),
            (append::KEY_BITS, self.bits[0].into()),
            (append::VALUE_BITS, self.bits[1].into()),
            (append::KEY_STRIDE, self.rows[0].stride.into()),
            (append::VALUE_STRIDE, self.rows[1].stride.into()),
            (append::KEY_ADDRESS, self.rows[0].address),
            (append::VALUE_ADDRESS, self.rows[1].address),
            (append::KEY_AREA, self.areas[0]),
            (append::VALUE_AREA, self.areas[1]),
        ];
        Descriptor::checked(append::OPCODE, &fields, |d| check(d, caps, held, window))
    }
}

/// Restores all tokens of the cache, and checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreJob {
    sizes: (u32, u32),
    rows: Option<[Operand; 2]>,
    areas: [u64; 2],
    lines: u16,
}

impl RestoreJob {
    /// The tokens become the context. `sizes`: tokens, channels.
    #[must_use]
    pub fn to_context(sizes: (u32, u32), areas: [u64; 2], lines: u16) -> Self {
        Self { sizes, rows: None, areas, lines }
    }

    /// The tokens go to rows of keys and of values.
    #[must_use]
    pub fn to_rows(sizes: (u32, u32), rows: [Operand; 2], areas: [u64; 2], lines: u16) -> Self {
        Self { sizes, rows: Some(rows), areas, lines }
    }

    /// The descriptor for a core that holds `held`.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn build(&self, caps: &Caps, held: &Held, window: &Window) -> Result<Descriptor, Refusal> {
        let nowhere = Operand { address: 0, stride: 0 };
        let [keys, values] = self.rows.unwrap_or([nowhere; 2]);
        let fields = [
            (restore::TOKENS, self.sizes.0.into()),
            (restore::CHANNELS, self.sizes.1.into()),
            (restore::ROWS, self.rows.is_some().into()),
            (restore::LINES, self.lines.into()),
            (restore::KEY_STRIDE, keys.stride.into()),
            (restore::VALUE_STRIDE, values.stride.into()),
            (restore::KEY_ADDRESS, keys.address),
            (restore::VALUE_ADDRESS, values.address),
            (restore::KEY_AREA, self.areas[0]),
            (restore::VALUE_AREA, self.areas[1]),
        ];
        Descriptor::checked(restore::OPCODE, &fields, |d| check(d, caps, held, window))
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
        Descriptor::checked(link::OPCODE, &fields, |d| check(d, caps, &Held::default(), window))
    }
}
