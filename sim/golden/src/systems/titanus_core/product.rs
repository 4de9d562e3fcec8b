//! Products of rows and a matrix on the chip, and results from their sums.

use crate::common::float::{Direction, Float, Integers, single};
use crate::common::row::is_special;
use crate::common::shell::job_controller::code;
use crate::format::FloatFormat;
use crate::systems::job::Codes;
use crate::systems::memory::Memory;
use crate::systems::pieces::{self, Loaded};
use crate::titanus::computing_engine::dot;

use super::state::{Constant, State};
use super::{Counts, Executed, Matrix, Operation, Product, Shape, TitanusCore, Work};

const FP16: Float = Float::ieee(FloatFormat::Fp16);
/// 255 in fp16.
const FULL: u64 = 0x5bf8;

/// A column of the matrix of a product.
enum Column<'a> {
    /// Weights of the store.
    Stored(&'a [i8]),
    /// Keys or values of the context.
    Kept(Vec<i64>),
}

/// The sum of products with weights of the store. The processor adds several products of narrow integers side by side.
fn stored(x: &[i16], weights: &[i8]) -> i64 {
    /// Products of two bytes whose sum is in 32 bits.
    const PRODUCTS: usize = 1 << 16;
    let part = |(x, weights): (&[i16], &[i8])| -> i32 {
        x.iter().zip(weights).map(|(&x, &weight)| i32::from(x) * i32::from(i16::from(weight))).sum()
    };
    x.chunks(PRODUCTS).zip(weights.chunks(PRODUCTS)).map(|both| i64::from(part(both))).sum()
}

/// A probability as an integer of 8 bits, and whether it was outside of 0 to 1.
fn byte_of(probability: u16) -> (i64, bool) {
    let scaled = FP16.mul(probability.into(), FULL).bits;
    let rounded = FP16.to_int(scaled, Integers { width: 8, signed: false, direction: Direction::NearestEven });
    (rounded.bits as i64, rounded.flags.invalid)
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
        let wide = |x: &i8| i64::from(*x);
        match self.matrix {
            Matrix::Store { row, column } => {
                let first = (column * shape.outputs) as usize;
                (first..first + columns).map(|output| state.weights(row, inner, output).map(Column::Stored)).collect()
            }
            Matrix::Keys { tile } => {
                let first = (tile * shape.lanes) as usize;
                let key =
                    |token: usize| Some(state.context()?.keys[token][first..first + inner].iter().map(wide).collect());
                (0..columns).map(|token| key(token).map(Column::Kept)).collect()
            }
            Matrix::Values { tile } => {
                let first = (tile * shape.lanes) as usize;
                let channel =
                    |c: usize| Some(state.context()?.values[..inner].iter().map(|token| wide(&token[c])).collect());
                (first..first + columns).map(|c| channel(c).map(Column::Kept)).collect()
            }
        }
    }

    /// A row as integers, and how many of its elements are no probabilities.
    fn integers(&self, bytes: &[u8]) -> (Vec<i64>, u64) {
        if !matches!(self.matrix, Matrix::Values { .. }) {
            return (bytes.iter().map(|&byte| i64::from(byte as i8)).collect(), 0);
        }
        let halves = bytes.chunks(2).map(|pair| byte_of(u16::from_le_bytes([pair[0], pair[1]])));
        let (x, wrong): (Vec<i64>, Vec<bool>) = halves.unzip();
        (x, wrong.into_iter().map(u64::from).sum())
    }
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
        for row in 0..operation.x.rows {
            let loaded = Loaded::row(&operation.x, row, memory, &mut codes);
            // A result that depends on missing bytes or unknown weights is not computed.
            let Some(bytes) = loaded.whole().filter(|_| known) else { continue };
            let (x, wrong) = operation.integers(bytes);
            // Bytes, where the matrix is in the store.
            let narrow: Vec<i16> = x.iter().map(|&x| x as i16).collect();
            let mut special = wrong;
            let mut results = Vec::new();
            for (weights, constant) in matrix.iter().flatten().zip(constants.iter().flatten()) {
                let sum = match weights {
                    Column::Stored(weights) => stored(&narrow, weights),
                    Column::Kept(numbers) => {
                        let (sum, skipped) = dot(&x, numbers);
                        counts.multiplications += operation.inner;
                        counts.skipped += skipped;
                        sum
                    }
                };
                let (result, overflow) = operation.element(sum, *constant);
                special += u64::from(overflow);
                results.push(result);
            }
            overflows += special;
            if special > 0 && operation.exact {
                codes.note(code::OVERFLOW);
            }
            let bytes = results.iter().flat_map(|y| y.to_le_bytes());
            let bytes: Vec<u8> = if operation.integers { bytes.step_by(2).collect() } else { bytes.collect() };
            pieces::store(&operation.out, row, &bytes, memory, &mut codes);
        }
        let codes = codes.all();
        let apart = operation.is_defined();
        let (defined, certain) = (codes.is_empty() && known && apart, known && (apart || !operation.exact));
        let operation = Work::new(Operation::Product(operation), counts, None);
        Executed { operation, codes, defined, certain, overflows, sum_overflows: 0 }
    }
}
