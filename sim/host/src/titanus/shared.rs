//! State of the core that operations of several engines use: macros, constants, and the context. Loads and operations on
//! the cache write it, products read it.

use super::Caps;
use super::check::{KEYS, STORE};
use super::operations::{append, load, multiply, restore};
use crate::Descriptor;
use crate::layout::Field;
use crate::used::Used;

/// Numbers from here on: a macro of the store each, row by row; a constant; keys of a token; values of a token.
const MACROS: u64 = 0;
const CONSTANTS: u64 = 1 << 32;
const CONTEXT: [u64; 2] = [2 << 32, 3 << 32];

/// So many numbers from `address` on.
fn row(address: u64, count: u64, is_written: bool) -> Used {
    Used { address, stride: 0, rows: 1, row_bytes: count, is_written, is_early: false }
}

/// The macros that hold a matrix.
fn macros(d: &Descriptor, caps: &Caps, [row, column]: [Field; 2], [inputs, outputs]: [Field; 2]) -> Used {
    let columns = u64::from(caps.columns);
    Used {
        address: MACROS + d.get(row) * columns + d.get(column),
        stride: columns,
        rows: d.get(inputs).div_ceil(caps.inputs.into()),
        row_bytes: d.get(outputs).div_ceil(caps.outputs.into()),
        is_written: false,
        is_early: false,
    }
}

pub(super) fn load(d: Descriptor, caps: &Caps) -> Descriptor {
    let part = if d.has(load::CONSTANTS) {
        row(CONSTANTS + d.get(load::CONSTANT), d.get(load::COLUMNS), true)
    } else {
        let macros = macros(&d, caps, [load::FIRST_ROW, load::FIRST_COLUMN], [load::ROWS, load::COLUMNS]);
        Used { is_written: true, ..macros }
    };
    d.sharing(vec![part])
}

pub(super) fn product(d: Descriptor, caps: &Caps) -> Descriptor {
    use multiply as m;
    let constants = if d.has(m::ONE_CONSTANT) { 1 } else { d.get(m::COLUMNS) };
    let matrix = match d.get(m::MATRIX) {
        STORE => macros(&d, caps, [m::FIRST_ROW, m::FIRST_COLUMN], [m::INNER, m::COLUMNS]),
        KEYS => row(CONTEXT[0], d.get(m::COLUMNS), false),
        _ => row(CONTEXT[1], d.get(m::INNER), false),
    };
    let constants = row(CONSTANTS + d.get(m::CONSTANT), constants, false);
    d.sharing(vec![constants, matrix])
}

/// Tokens of the context are written, or end: so many from `first` on.
fn writes(d: Descriptor, first: u64, tokens: u64) -> Descriptor {
    let parts = CONTEXT.map(|side| row(side + first, tokens, true));
    d.sharing(parts.into()).on_state(0..=0)
}

/// A new context has no token of the old one.
fn begins(d: Descriptor, caps: &Caps) -> Descriptor {
    writes(d, 0, caps.context.max(1).into())
}

pub(super) fn append(d: Descriptor, caps: &Caps) -> Descriptor {
    let (position, tokens) = (d.get(append::POSITION), d.get(append::TOKENS));
    match (position, d.has(append::KEEP)) {
        (0, _) => begins(d, caps),
        (_, true) => writes(d, position, tokens),
        (_, false) => d.on_state(0..=0),
    }
}

pub(super) fn restore(d: Descriptor, caps: &Caps) -> Descriptor {
    if d.has(restore::ROWS) { d.on_state(0..=0) } else { begins(d, caps) }
}
