//! The checks of the hardware, in their order.

use super::layout::{self as l, append, link, load, product, restore};
use super::{Caps, Held};
use crate::descriptor::Extent;
use crate::layout::{Field, header};
use crate::vector;
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// Checks the fields after the header as the hardware does if it holds `held`. Only the hardware finds errors in
/// streams, and sees whether a restore has lines for all blocks.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<(), Refusal> {
    match descriptor.get(header::OPCODE) as u8 {
        l::LOAD_VALUE => check_load(descriptor, caps, window),
        l::PRODUCT_VALUE => check_product(descriptor, caps, held, window),
        l::VECTOR_VALUE => vector::check(descriptor, &caps.vector, window),
        l::APPEND_VALUE => check_append(descriptor, caps, held, window),
        l::RESTORE_VALUE => check_restore(descriptor, caps, held, window),
        l::LINK_VALUE if caps.links => check_link(descriptor),
        _ => descriptor.check_header(window, l::OPCODES),
    }
}

fn wrong(code: ErrorCode, field: Field, descriptor: &Descriptor, expected: impl Into<String>) -> Result<(), Refusal> {
    Err(Refusal::new(code, field.name, descriptor.get(field).to_string(), expected))
}

/// Checks that the options are made of known bits.
fn check_options(descriptor: &Descriptor, field: Field, known: &[u32]) -> Result<(), Refusal> {
    let known = known.iter().fold(0, |bits, bit| bits | 1 << bit);
    let value = descriptor.get(field);
    if value & !known == 0 {
        return Ok(());
    }
    let expected = format!("made of the bits of {known:#x}");
    Err(Refusal::new(ErrorCode::Reserved, field.name, format!("{value:#x}"), expected))
}

/// Checks that the device has the part that the operation needs.
fn check_built(descriptor: &Descriptor, what: &str, built: bool) -> Result<(), Refusal> {
    if built {
        Ok(())
    } else {
        wrong(ErrorCode::Field, header::OPCODE, descriptor, format!("another one: the device has no {what}"))
    }
}

/// Checks a number that may be 0: up to `most`.
fn check_most(descriptor: &Descriptor, field: Field, most: u64) -> Result<(), Refusal> {
    if descriptor.get(field) <= most {
        return Ok(());
    }
    wrong(ErrorCode::Size, field, descriptor, format!("0 to {most}"))
}

/// Checks that a field has the expected value.
fn check_is(descriptor: &Descriptor, field: Field, expected: u64, why: &str) -> Result<(), Refusal> {
    if descriptor.get(field) == expected {
        return Ok(());
    }
    wrong(ErrorCode::Size, field, descriptor, format!("{expected}: {why}"))
}

fn bit(descriptor: &Descriptor, field: Field, bit: u32) -> bool {
    descriptor.get(field) >> bit & 1 == 1
}

/// Checks rows and columns of a matrix in the store.
fn check_matrix(d: &Descriptor, caps: &Caps, place: [Field; 2], sizes: [Field; 2]) -> Result<(), Refusal> {
    let macros = [(caps.rows, caps.inputs), (caps.columns, caps.outputs)];
    for ((first, size), (count, each)) in place.into_iter().zip(sizes).zip(macros) {
        check_most(d, first, u64::from(count.saturating_sub(1)))?;
        d.check_size(size, (u64::from(count) - d.get(first)) * u64::from(each))?;
    }
    Ok(())
}

fn check_load(d: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    check_options(d, load::OPTIONS, &[l::CONSTANTS_BIT])?;
    let constants = bit(d, load::OPTIONS, l::CONSTANTS_BIT);
    d.check_zeros(if constants { &[load::FIRST_ROW, load::FIRST_COLUMN] } else { &[load::CONSTANT] })?;
    d.check_zeros(load::ZEROS)?;
    check_built(d, "constants of results", caps.constants > 0)?;
    check_built(d, "store of weights", constants || caps.rows > 0)?;
    if constants {
        d.check_size(load::ROWS, 1)?;
        check_most(d, load::CONSTANT, u64::from(caps.constants) - 1)?;
        d.check_size(load::COLUMNS, u64::from(caps.constants) - d.get(load::CONSTANT))?;
    } else {
        check_matrix(d, caps, [load::FIRST_ROW, load::FIRST_COLUMN], [load::ROWS, load::COLUMNS])?;
    }
    let each = if constants { l::CONSTANT_BYTES } else { 1 };
    let (rows, row_bytes) = (d.get(load::ROWS), each * d.get(load::COLUMNS));
    d.check_operand(window, &Extent { address: load::ADDRESS, stride: Some(load::STRIDE), rows, row_bytes })
}

fn check_product(d: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<(), Refusal> {
    let options = [l::INTEGERS_BIT, l::RELU_BIT, l::ONE_CONSTANT_BIT, l::EXACT_BIT];
    check_options(d, product::OPTIONS, &options)?;
    let matrix = d.get(product::MATRIX) as u32;
    d.check_zeros(if matrix == l::STORE { &[] } else { &[product::FIRST_COLUMN] })?;
    d.check_zeros(product::ZEROS)?;
    if matrix > l::VALUES {
        return wrong(ErrorCode::Field, product::MATRIX, d, "0, 1 or 2");
    }
    check_built(d, "constants of results", caps.constants > 0)?;
    match matrix {
        l::STORE => check_built(d, "store of weights", caps.rows > 0)?,
        _ => check_built(d, "context", caps.context > 0)?,
    }
    d.check_size(product::ROWS, l::MOST)?;
    if matrix == l::STORE {
        check_matrix(d, caps, [product::FIRST_ROW, product::FIRST_COLUMN], [product::INNER, product::COLUMNS])?;
    } else {
        check_most(d, product::FIRST_ROW, u64::from(caps.tiles) - 1)?;
        let channels = (u64::from(caps.tiles) - d.get(product::FIRST_ROW)) * u64::from(caps.lanes);
        let most = [channels, held.context.into()];
        let [inner, columns] = if matrix == l::KEYS { most } else { [most[1], most[0]] };
        d.check_size(product::INNER, inner)?;
        d.check_size(product::COLUMNS, columns)?;
    }
    let get = |field| d.get(field);
    let used = if bit(d, product::OPTIONS, l::ONE_CONSTANT_BIT) { 1 } else { get(product::COLUMNS) };
    check_most(d, product::CONSTANT, u64::from(caps.constants).saturating_sub(used))?;
    if used > u64::from(caps.constants) {
        return wrong(ErrorCode::Size, product::COLUMNS, d, format!("up to {}, the constants", caps.constants));
    }
    let rows = get(product::ROWS);
    let x_bytes = get(product::INNER) * if matrix == l::VALUES { 2 } else { 1 };
    let out_bytes = get(product::COLUMNS) * if bit(d, product::OPTIONS, l::INTEGERS_BIT) { 1 } else { 2 };
    let operand = |address, stride, row_bytes| Extent { address, stride: Some(stride), rows, row_bytes };
    d.check_operand(window, &operand(product::X_ADDRESS, product::X_STRIDE, x_bytes))?;
    d.check_operand(window, &operand(product::OUT_ADDRESS, product::OUT_STRIDE, out_bytes))
}

/// Checks an area of so many lines.
fn check_area(d: &Descriptor, window: &Window, address: Field, lines: Field) -> Result<(), Refusal> {
    let row_bytes = l::LINE_BYTES * d.get(lines);
    d.check_operand(window, &Extent { address, stride: None, rows: 1, row_bytes })
}

fn check_append(d: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<(), Refusal> {
    check_options(d, append::OPTIONS, &[l::KEEP_BIT, l::EXACT_BIT])?;
    let (get, first) = (|field| d.get(field), d.get(append::POSITION) == 0);
    let of_the_begin =
        [append::PREFILL, append::KEY_THRESHOLD, append::VALUE_THRESHOLD, append::KEY_BITS, append::VALUE_BITS];
    d.check_zeros(if first { &[] } else { &of_the_begin })?;
    d.check_zeros(append::ZEROS)?;
    check_built(d, "cache", caps.lanes > 0)?;
    let keep = bit(d, append::OPTIONS, l::KEEP_BIT);
    check_built(d, "context", !keep || caps.context > 0)?;
    for bits in [append::KEY_BITS, append::VALUE_BITS] {
        if first && !(2..=8).contains(&get(bits)) {
            return wrong(ErrorCode::Field, bits, d, "2 to 8");
        }
    }
    d.check_size(append::CHANNELS, caps.channels().into())?;
    d.check_size(append::LINES, l::MOST)?;
    if !first {
        check_is(d, append::POSITION, held.cache.into(), "the tokens of the cache")?;
    }
    d.check_size(append::TOKENS, l::MOST.saturating_sub(get(append::POSITION)))?;
    check_most(d, append::PREFILL, caps.buffer.into())?;
    if keep {
        if !first {
            check_is(d, append::POSITION, held.context.into(), "new tokens follow the tokens of the context")?;
        }
        d.check_size(append::TOKENS, u64::from(caps.context).saturating_sub(get(append::POSITION)))?;
    }
    let (rows, row_bytes) = (get(append::TOKENS), get(append::CHANNELS));
    let operand = |address, stride| Extent { address, stride: Some(stride), rows, row_bytes };
    d.check_operand(window, &operand(append::KEY_ADDRESS, append::KEY_STRIDE))?;
    d.check_operand(window, &operand(append::VALUE_ADDRESS, append::VALUE_STRIDE))?;
    check_area(d, window, append::KEY_AREA, append::LINES)?;
    check_area(d, window, append::VALUE_AREA, append::LINES)
}

fn check_restore(d: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<(), Refusal> {
    check_options(d, restore::OPTIONS, &[l::ROWS_BIT])?;
    let (get, to_rows) = (|field| d.get(field), bit(d, restore::OPTIONS, l::ROWS_BIT));
    let places = [restore::KEY_STRIDE, restore::VALUE_STRIDE, restore::KEY_ADDRESS, restore::VALUE_ADDRESS];
    d.check_zeros(if to_rows { &[] } else { &places })?;
    d.check_zeros(restore::ZEROS)?;
    check_built(d, "cache", caps.lanes > 0)?;
    check_built(d, "context", to_rows || caps.context > 0)?;
    if held.cache == 0 {
        return wrong(ErrorCode::Size, restore::TOKENS, d, "the tokens of a cache, and there is no cache");
    }
    check_is(d, restore::TOKENS, held.cache.into(), "the tokens of the cache")?;
    if held.cache < held.prefill {
        let expected = format!("the tokens of a cache whose prefill of {} tokens is complete", held.prefill);
        return wrong(ErrorCode::Size, restore::TOKENS, d, expected);
    }
    if !to_rows {
        d.check_size(restore::TOKENS, caps.context.into())?;
    }
    d.check_size(restore::CHANNELS, caps.channels().into())?;
    d.check_size(restore::LINES, l::MOST)?;
    check_area(d, window, restore::KEY_AREA, restore::LINES)?;
    check_area(d, window, restore::VALUE_AREA, restore::LINES)?;
    if !to_rows {
        return Ok(());
    }
    let (rows, row_bytes) = (get(restore::TOKENS), get(restore::CHANNELS));
    let operand = |address, stride| Extent { address, stride: Some(stride), rows, row_bytes };
    d.check_operand(window, &operand(restore::KEY_ADDRESS, restore::KEY_STRIDE))?;
    d.check_operand(window, &operand(restore::VALUE_ADDRESS, restore::VALUE_STRIDE))
}

fn check_link(d: &Descriptor) -> Result<(), Refusal> {
    check_options(d, link::OPTIONS, &[l::LAST_AWAITED_BIT, l::LAST_GIVEN_BIT])?;
    d.check_zeros(link::ZEROS)?;
    for (count, last) in [(link::AWAITED, l::LAST_AWAITED_BIT), (link::GIVEN, l::LAST_GIVEN_BIT)] {
        if d.get(count) == 0 && bit(d, link::OPTIONS, last) {
            return wrong(ErrorCode::Reserved, link::OPTIONS, d, format!("without bit {last}: {} is 0", count.name));
        }
    }
    check_most(d, link::AWAITED, l::MOST)?;
    check_most(d, link::GIVEN, l::MOST)?;
    if d.get(link::AWAITED) == 0 { d.check_size(link::GIVEN, l::MOST) } else { Ok(()) }
}
