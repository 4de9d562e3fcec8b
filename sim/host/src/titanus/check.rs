//! The checks of the hardware, in their order.

use super::caps::LINE_BYTES;
use super::operations::{append, link, load, multiply, restore, vector as rows};
use super::{Caps, Held};
use crate::layout::{Field, header};
use crate::vector;
use crate::{Descriptor, ErrorCode, Extent, Refusal, Window};

/// Values of [`MATRIX`](multiply::MATRIX): weights, keys and values of the context.
pub(super) const STORE: u64 = 0;
pub(super) const KEYS: u64 = 1;
pub(super) const VALUES: u64 = 2;

/// Bytes of a constant: scale and bias.
const CONSTANT_BYTES: u64 = 8;
/// The longest cache, and the longest area.
const MOST: u64 = 65_535;

/// Checks the fields after the header as the hardware does if it holds `held`. Only the hardware finds errors in
/// streams, and sees whether a restore has lines for all blocks.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<(), Refusal> {
    operands(descriptor, caps, held, window).map(|_| ())
}

/// The operands of a right descriptor. Areas count as a whole.
pub(super) fn operands(
    descriptor: &Descriptor,
    caps: &Caps,
    held: &Held,
    window: &Window,
) -> Result<Vec<Extent>, Refusal> {
    match descriptor.get(header::OPCODE) as u8 {
        load::OPCODE => check_load(descriptor, caps, window),
        multiply::OPCODE => check_product(descriptor, caps, held, window),
        rows::OPCODE => vector::operands(descriptor, &caps.vector, window),
        append::OPCODE => check_append(descriptor, caps, held, window),
        restore::OPCODE => check_restore(descriptor, caps, held, window),
        link::OPCODE if caps.links => check_link(descriptor).map(|()| Vec::new()),
        _ => descriptor.check_header(window, restore::OPCODE).map(|()| Vec::new()),
    }
}

/// Checks what must be 0. No part that a build may lack has fields of its own.
fn check_reserved(descriptor: &Descriptor, fields: &[Field]) -> Result<(), Refusal> {
    descriptor.check_reserved(fields, &|_| false)
}

/// Checks that the device has the part that the operation needs.
fn check_built(descriptor: &Descriptor, what: &str, built: bool) -> Result<(), Refusal> {
    if built {
        return Ok(());
    }
    let expected = format!("another one: the device has no {what}");
    Err(descriptor.refusal(ErrorCode::Field, header::OPCODE, expected))
}

/// Checks that a field has the expected value.
fn check_is(descriptor: &Descriptor, field: Field, expected: u64, why: &str) -> Result<(), Refusal> {
    if descriptor.get(field) == expected {
        return Ok(());
    }
    Err(descriptor.wrong_size(field, format!("{expected}: {why}")))
}

/// Checks rows and columns of a matrix in the store.
fn check_matrix(d: &Descriptor, caps: &Caps, place: [Field; 2], sizes: [Field; 2]) -> Result<(), Refusal> {
    let macros = [(caps.rows, caps.inputs), (caps.columns, caps.outputs)];
    for ((first, size), (count, each)) in place.into_iter().zip(sizes).zip(macros) {
        d.check_range(first, 0..=u64::from(count.saturating_sub(1)))?;
        d.check_size(size, (u64::from(count) - d.get(first)) * u64::from(each))?;
    }
    Ok(())
}

/// The operands, if they are in the window and aligned.
fn placed(d: &Descriptor, window: &Window, operands: Vec<Extent>) -> Result<Vec<Extent>, Refusal> {
    d.check_operands(window, &operands)?;
    Ok(operands)
}

fn check_load(d: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    check_reserved(d, load::FIELDS)?;
    let constants = d.has(load::CONSTANTS);
    check_built(d, "constants of results", caps.constants > 0)?;
    check_built(d, "store of weights", constants || caps.rows > 0)?;
    if constants {
        d.check_size(load::ROWS, 1)?;
        d.check_range(load::CONSTANT, 0..=u64::from(caps.constants) - 1)?;
        d.check_size(load::COLUMNS, u64::from(caps.constants) - d.get(load::CONSTANT))?;
    } else {
        check_matrix(d, caps, [load::FIRST_ROW, load::FIRST_COLUMN], [load::ROWS, load::COLUMNS])?;
    }
    let row_bytes = d.get(load::COLUMNS) * if constants { CONSTANT_BYTES } else { 1 };
    placed(d, window, vec![Extent::rows(load::ADDRESS, load::STRIDE, d.get(load::ROWS), row_bytes)])
}

fn check_product(d: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use multiply as m;
    check_reserved(d, m::FIELDS)?;
    let (get, matrix) = (|field| d.get(field), d.get(m::MATRIX));
    if matrix > VALUES {
        return Err(d.refusal(ErrorCode::Field, m::MATRIX, "0, 1 or 2"));
    }
    check_built(d, "constants of results", caps.constants > 0)?;
    match matrix {
        STORE => check_built(d, "store of weights", caps.rows > 0)?,
        _ => check_built(d, "context", caps.context > 0)?,
    }
    d.check_size(m::ROWS, MOST)?;
    if matrix == STORE {
        check_matrix(d, caps, [m::FIRST_ROW, m::FIRST_COLUMN], [m::INNER, m::COLUMNS])?;
    } else {
        d.check_range(m::FIRST_ROW, 0..=u64::from(caps.tiles) - 1)?;
        let channels = (u64::from(caps.tiles) - get(m::FIRST_ROW)) * u64::from(caps.lanes);
        let tokens = held.context.into();
        let [inner, columns] = if matrix == KEYS { [channels, tokens] } else { [tokens, channels] };
        d.check_size(m::INNER, inner)?;
        d.check_size(m::COLUMNS, columns)?;
    }
    let used = if d.has(m::ONE_CONSTANT) { 1 } else { get(m::COLUMNS) };
    d.check_range(m::CONSTANT, 0..=u64::from(caps.constants).saturating_sub(used))?;
    if used > u64::from(caps.constants) {
        return Err(d.wrong_size(m::COLUMNS, format!("up to {}, the constants", caps.constants)));
    }
    let x_bytes = get(m::INNER) * if matrix == VALUES { 2 } else { 1 };
    let out_bytes = get(m::COLUMNS) * if d.has(m::INTEGERS) { 1 } else { 2 };
    let operands = vec![
        Extent::rows(m::X_ADDRESS, m::X_STRIDE, get(m::ROWS), x_bytes),
        Extent::rows(m::OUT_ADDRESS, m::OUT_STRIDE, get(m::ROWS), out_bytes).written(),
    ];
    placed(d, window, operands)
}

fn check_append(d: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use append as a;
    check_reserved(d, a::FIELDS)?;
    let (get, first, keep) = (|field| d.get(field), !d.has(a::POSITION), d.has(a::KEEP));
    check_built(d, "cache", caps.lanes > 0)?;
    check_built(d, "context", !keep || caps.context > 0)?;
    for bits in [a::KEY_BITS, a::VALUE_BITS] {
        if first && !(2..=8).contains(&get(bits)) {
            return Err(d.refusal(ErrorCode::Field, bits, "2 to 8"));
        }
    }
    d.check_size(a::CHANNELS, caps.channels().into())?;
    d.check_size(a::LINES, MOST)?;
    if !first {
        check_is(d, a::POSITION, held.cache.into(), "the tokens of the cache")?;
    }
    d.check_size(a::TOKENS, MOST.saturating_sub(get(a::POSITION)))?;
    d.check_range(a::PREFILL, 0..=caps.buffer.into())?;
    if keep {
        if !first {
            check_is(d, a::POSITION, held.context.into(), "new tokens follow the tokens of the context")?;
        }
        d.check_size(a::TOKENS, u64::from(caps.context).saturating_sub(get(a::POSITION)))?;
    }
    let area_bytes = LINE_BYTES * get(a::LINES);
    let operands = vec![
        Extent::rows(a::KEY_ADDRESS, a::KEY_STRIDE, get(a::TOKENS), get(a::CHANNELS)),
        Extent::rows(a::VALUE_ADDRESS, a::VALUE_STRIDE, get(a::TOKENS), get(a::CHANNELS)),
        Extent::row(a::KEY_AREA, area_bytes).written(),
        Extent::row(a::VALUE_AREA, area_bytes).written(),
    ];
    placed(d, window, operands)
}

fn check_restore(d: &Descriptor, caps: &Caps, held: &Held, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use restore as r;
    check_reserved(d, r::FIELDS)?;
    let (get, to_rows) = (|field| d.get(field), d.has(r::ROWS));
    check_built(d, "cache", caps.lanes > 0)?;
    check_built(d, "context", to_rows || caps.context > 0)?;
    if held.cache == 0 {
        return Err(d.wrong_size(r::TOKENS, "the tokens of a cache, and there is no cache"));
    }
    check_is(d, r::TOKENS, held.cache.into(), "the tokens of the cache")?;
    if held.cache < held.prefill {
        let expected = format!("the tokens of a cache whose prefill of {} tokens is complete", held.prefill);
        return Err(d.wrong_size(r::TOKENS, expected));
    }
    if !to_rows {
        d.check_size(r::TOKENS, caps.context.into())?;
    }
    d.check_size(r::CHANNELS, caps.channels().into())?;
    d.check_size(r::LINES, MOST)?;
    let area_bytes = LINE_BYTES * get(r::LINES);
    let mut operands = vec![Extent::row(r::KEY_AREA, area_bytes), Extent::row(r::VALUE_AREA, area_bytes)];
    if to_rows {
        let sides = [(r::KEY_ADDRESS, r::KEY_STRIDE), (r::VALUE_ADDRESS, r::VALUE_STRIDE)];
        let rows = |(address, stride)| Extent::rows(address, stride, get(r::TOKENS), get(r::CHANNELS)).written();
        operands.extend(sides.map(rows));
    }
    placed(d, window, operands)
}

fn check_link(d: &Descriptor) -> Result<(), Refusal> {
    check_reserved(d, link::FIELDS)?;
    d.check_range(link::AWAITED, 0..=MOST)?;
    d.check_range(link::GIVEN, 0..=MOST)?;
    if d.has(link::AWAITED) { Ok(()) } else { d.check_size(link::GIVEN, MOST) }
}
