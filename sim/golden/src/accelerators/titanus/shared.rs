//! State that operations of several engines use: weights, constants, and the context. Loads and operations on the cache
//! write it, products read it.

use std::ops::RangeInclusive;

use super::operation::{Load, Matrix, Operation, Product};
use super::shape::Shape;

/// Numbers from here on: a macro of the store each, row by row; a constant; keys of a token; values of a token.
const MACROS: u64 = 0;
const CONSTANTS: u64 = 1 << 32;
const KEYS: u64 = 2 << 32;
const VALUES: u64 = 3 << 32;

/// So many numbers from `first` on.
fn numbers(first: u64, count: u64) -> RangeInclusive<u64> {
    first..=first + (count - 1)
}

/// The macros that hold a matrix of so many inputs and outputs.
fn macros(shape: &Shape, first: [u32; 2], size: [u64; 2]) -> Vec<RangeInclusive<u64>> {
    let [row, column] = first.map(u64::from);
    let [rows, columns] = [size[0].div_ceil(shape.inputs.into()), size[1].div_ceil(shape.outputs.into())];
    (row..row + rows).map(|row| numbers(MACROS + row * u64::from(shape.columns) + column, columns)).collect()
}

fn loaded(shape: &Shape, load: &Load) -> Vec<RangeInclusive<u64>> {
    if load.constants {
        return vec![numbers(CONSTANTS + u64::from(load.first), load.columns)];
    }
    macros(shape, [load.first_row, load.first_column], [load.rows.rows, load.columns])
}

fn multiplied(shape: &Shape, product: &Product) -> Vec<RangeInclusive<u64>> {
    let constants = if product.one_constant { 1 } else { product.columns };
    let mut all = vec![numbers(CONSTANTS + u64::from(product.constant), constants)];
    match product.matrix {
        Matrix::Store { row, column } => all.extend(macros(shape, [row, column], [product.inner, product.columns])),
        Matrix::Keys { .. } => all.push(numbers(KEYS, product.columns)),
        Matrix::Values { .. } => all.push(numbers(VALUES, product.inner)),
    }
    all
}

/// What an operation reads, and what it writes. Tokens from `first` on are written, or end: a new context has none of the
/// old one's.
pub(super) fn of(shape: &Shape, operation: &Operation) -> [Vec<RangeInclusive<u64>>; 2] {
    let tokens = |first: u32, count: u64| {
        [KEYS, VALUES].map(|side| numbers(side + u64::from(first), count)).into_iter().collect::<Vec<_>>()
    };
    let (none, context) = (Vec::new(), u64::from(shape.context.max(1)));
    match operation {
        Operation::Load(load) => [none, loaded(shape, load)],
        Operation::Product(product) => [multiplied(shape, product), none],
        Operation::Append(append) if append.position == 0 => [none, tokens(0, context)],
        Operation::Append(append) if append.keep => [none, tokens(append.position, append.tokens.into())],
        Operation::Restore(restore) if restore.rows.is_none() => [none, tokens(0, context)],
        _ => [none.clone(), none],
    }
}
