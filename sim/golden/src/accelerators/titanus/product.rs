//! Products of rows and a matrix on the chip, and results from their sums.

use crate::accelerators::columns::by_column;
use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::{self, Loaded};
use crate::common::float::{binary16, single};
use crate::common::inner_product::{inner_product, terms};
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;
use crate::titanus::computing_engine::skipped;

use super::state::{Constant, State};
use super::{Counts, Executed, Matrix, Operation, Product, Shape, TitanusCore, Work};

/// 255 in fp16.
const FULL: u16 = 0x5bf8;

/// A column of the matrix of a product.
enum Column<'a> {
    /// Weights of the store.
    Stored(&'a [i8]),
    /// Keys or values of the context.
    Kept(Vec<i8>),
}

/// A probability as an integer of 8 bits, and whether it was outside of 0 to 1.
fn byte_of(probability: u16) -> (i16, bool) {
    let (byte, outside) = binary16::to_int(binary16::mul(probability, FULL), (0, 255));
    (byte as i16, outside)
}

impl Product {
    /// The raw bits of a result, and whether it overflows.
    #[must_use]
    pub fn element(&self, sum: i64, (scale, bias): (u32, i32)) -> (u16, bool) {
        let number = single::from_int(i128::from(sum) + i128::from(bias));
        // A zero becomes +0.
        let y = single::add(single::mul(number, scale), 0);
        let negative = y >> 31 == 1 && y != single::NAN;
        let y = if self.relu && negative { 0 } else { y };
        if self.integers {
            let (integer, outside) = single::to_int(y, (-128, 127));
            (integer as u8 as u16, outside)
        } else {
            let half = single::to_fp16(y);
            (half, is_special(half))
        }
    }

    /// The columns of the matrix: for each result a weight for each element; `None`: unknown.
    fn matrix<'a>(&self, state: &'a State, shape: &Shape) -> Vec<Option<Column<'a>>> {
        let (inner, columns) = (self.inner as usize, self.columns as usize);
        match self.matrix {
            Matrix::Store { row, column } => {
                let first = (column * shape.outputs) as usize;
                (first..first + columns).map(|output| state.weights(row, inner, output).map(Column::Stored)).collect()
            }
            Matrix::Keys { tile } => {
                let first = (tile * shape.lanes) as usize;
                let key = |token: usize| Some(state.context()?.keys[token][first..first + inner].to_vec());
                (0..columns).map(|token| key(token).map(Column::Kept)).collect()
            }
            Matrix::Values { tile } => {
                let first = (tile * shape.lanes) as usize;
                let channel = |c: usize| Some(state.context()?.values[..inner].iter().map(|token| token[c]).collect());
                (first..first + columns).map(|c| channel(c).map(Column::Kept)).collect()
            }
        }
    }

    /// A row as integers, and how many of its elements are no probabilities.
    fn integers(&self, bytes: &[u8]) -> (Vec<i16>, u64) {
        if !matches!(self.matrix, Matrix::Values { .. }) {
            return (bytes.iter().map(|&byte| i16::from(byte as i8)).collect(), 0);
        }
        let halves = bytes.chunks(2).map(|pair| byte_of(u16::from_le_bytes([pair[0], pair[1]])));
        let (x, wrong): (Vec<i16>, Vec<bool>) = halves.unzip();
        (x, wrong.into_iter().map(u64::from).sum())
    }

    /// The results of rows, by column; none of a row that is not known.
    fn results(
        &self,
        rows: &[Row],
        (matrix, constants): (&[Option<Column<'_>>], &[Option<Constant>]),
    ) -> Vec<Vec<Option<One>>> {
        // Elements of a row are bytes, and weights are signed ones.
        let terms = terms(1 << 8, 1 << 7);
        let result = |row: usize, column: usize, (): &()| {
            let (x, _) = rows[row].x.as_ref()?;
            let (sum, skipped) = match matrix[column].as_ref()? {
                Column::Stored(weights) => (inner_product(x, weights, terms), None),
                Column::Kept(weights) => (inner_product(x, weights, terms), Some(skipped(x, weights))),
            };
            let (result, overflow) = self.element(sum, constants[column]?);
            Some(One { result, overflow, skipped })
        };
        by_column([rows.len(), matrix.len(), self.inner as usize], |_, ()| true, result)
    }
}

/// A row that was read as integers, and how many of its elements are no probabilities. Missing where a result would
/// depend on missing bytes or unknown weights.
struct Row {
    codes: Codes,
    x: Option<(Vec<i16>, u64)>,
}

impl Row {
    fn of(operation: &Product, row: u64, known: bool, memory: &mut dyn Memory) -> Self {
        let mut codes = Codes::default();
        let loaded = Loaded::row(&operation.x, row, memory, &mut codes);
        let x = loaded.whole().filter(|_| known).map(|bytes| operation.integers(bytes));
        Self { codes, x }
    }
}

/// A result: its raw bits, whether it overflows, and how many multiplications by zero it has skipped, if they count.
#[derive(Clone, Copy)]
struct One {
    result: u16,
    overflow: bool,
    skipped: Option<u64>,
}

impl TitanusCore {
    /// A product. It goes on after an error, to find all errors.
    pub(super) fn multiply(&self, operation: Product, memory: &mut dyn Memory) -> Executed {
        let state = self.state.borrow();
        let (mut codes, mut counts, mut overflows) = (Codes::default(), Counts::default(), 0);
        let matrix = operation.matrix(&state, &self.shape);
        let constant =
            |j: usize| state.constant(operation.constant as usize + if operation.one_constant { 0 } else { j });
        let constants: Vec<Option<Constant>> = (0..matrix.len()).map(constant).collect();
        let known = matrix.iter().all(Option::is_some) && constants.iter().all(Option::is_some);
        let rows = operation.x.rows;
        // Rows may depend on the results of rows before them where results overwrite operands.
        let at_once = if operation.is_defined() { rows } else { 1 };
        for first in (0..rows).step_by(at_once as usize) {
            let load = |row| Row::of(&operation, row, known, memory);
            let loaded: Vec<Row> = (first..rows.min(first + at_once)).map(load).collect();
            let results = operation.results(&loaded, (&matrix, &constants)).into_iter();
            for (row, (Row { codes: found, x }, results)) in (first..).zip(loaded.into_iter().zip(results)) {
                codes.join(found);
                let Some((_, wrong)) = x else { continue };
                let (mut special, mut bytes) = (wrong, Vec::new());
                for One { result, overflow, skipped } in results.into_iter().flatten() {
                    special += u64::from(overflow);
                    bytes.extend(result.to_le_bytes());
                    if let Some(skipped) = skipped {
                        counts.multiplications += operation.inner;
                        counts.skipped += skipped;
                    }
                }
                overflows += special;
                if special > 0 && operation.exact {
                    codes.note(code::OVERFLOW);
                }
                if operation.integers {
                    bytes = bytes.into_iter().step_by(2).collect();
                }
                pieces::store(&operation.out, row, &bytes, memory, &mut codes);
            }
        }
        let codes = codes.all();
        let apart = operation.is_defined();
        let (defined, certain) = (codes.is_empty() && known && apart, known && (apart || !operation.exact));
        let operation = Work::new(Operation::Product(operation), counts, None);
        Executed { operation, codes, defined, certain, overflows, sum_overflows: 0 }
    }
}
