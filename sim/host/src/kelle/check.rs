//! The checks of the hardware, in their order.

use super::Caps;
use super::operations::{attention, clear, linear, recompute, refresh, restore, save, vector as rows};
use crate::layout::{Field, header};
use crate::vector;
use crate::{Descriptor, ErrorCode, Extent, Refusal, Window};

/// Most bits that a product may lose.
const MOST_SHIFT: u64 = 47;
/// Bytes of the constants of a column.
const CONSTANT_BYTES: u64 = 8;
/// Bytes in front of the key of a saved token.
const HEAD_BYTES: u64 = 64;

/// Checks the fields after the header as the hardware does. Only the hardware knows the state of a head: how many
/// tokens [`SaveJob`](super::SaveJob), [`RestoreJob`](super::RestoreJob) and [`RecomputeJob`](super::RecomputeJob) find
/// there, and which slots are in use.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    operands(descriptor, caps, window).map(|_| ())
}

/// The operands of a right descriptor.
pub(super) fn operands(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    let none = |()| Vec::new();
    let refused = |expected| Err(descriptor.refusal(ErrorCode::Field, header::OPCODE, expected));
    match descriptor.get(header::OPCODE) as u8 {
        linear::OPCODE => check_linear(descriptor, caps, window),
        attention::OPCODE => check_attention(descriptor, caps, window),
        rows::OPCODE => vector::operands(descriptor, &caps.vector, window),
        clear::OPCODE => check_clear(descriptor, caps).map(none),
        refresh::OPCODE => check_refresh(descriptor, caps).map(none),
        save::OPCODE if caps.save => check_save(descriptor, caps, window),
        restore::OPCODE if caps.save => check_restore(descriptor, caps, window),
        save::OPCODE | restore::OPCODE => {
            refused("0x1 to 0x5: the device does not write cached tokens to memory, and reads none back")
        }
        recompute::OPCODE if caps.recompute > 0 => check_recompute(descriptor, caps).map(none),
        _ => descriptor.check_header(window, caps.opcodes()).map(none),
    }
}

/// Checks what must be 0.
fn check_reserved(descriptor: &Descriptor, fields: &[Field], caps: &Caps) -> Result<(), Refusal> {
    descriptor.check_reserved(fields, &|part| part == "recompute" && caps.recompute > 0)
}

fn check_head(descriptor: &Descriptor, field: Field, caps: &Caps) -> Result<(), Refusal> {
    descriptor.check_range(field, 0..=u64::from(caps.heads) - 1)
}

/// Elements of a vector: whole columns of the array.
fn check_elements(descriptor: &Descriptor, field: Field, caps: &Caps) -> Result<(), Refusal> {
    let value = descriptor.get(field);
    if value.is_multiple_of(caps.columns.into()) && (1..=u64::from(caps.width)).contains(&value) {
        return Ok(());
    }
    Err(descriptor.wrong_size(field, format!("a multiple of {} up to {}", caps.columns, caps.width)))
}

fn check_linear(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use linear as f;
    check_reserved(descriptor, f::FIELDS, caps)?;
    for (field, most) in [(f::ROWS, caps.tokens.into()), (f::COLUMNS, 65_535), (f::CHANNELS, caps.inner.into())] {
        descriptor.check_size(field, most)?;
    }
    let get = |field| descriptor.get(field);
    let (tokens, columns, channels, panel) = (get(f::ROWS), get(f::COLUMNS), get(f::CHANNELS), caps.panel() as u64);
    let operands = [
        Extent::rows(f::X_ADDRESS, f::X_STRIDE, tokens, 2 * channels),
        Extent::rows(f::PANEL_ADDRESS, f::PANEL_STRIDE, columns.div_ceil(panel), channels * panel).early(),
        Extent::row(f::CONSTANTS_ADDRESS, CONSTANT_BYTES * columns).early(),
        Extent::rows(f::OUT_ADDRESS, f::OUT_STRIDE, tokens, 2 * columns).written(),
    ];
    descriptor.check_operands(window, &operands)?;
    Ok(operands.into())
}

fn check_attention(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use attention as f;
    check_reserved(descriptor, f::FIELDS, caps)?;
    check_head(descriptor, f::HEAD, caps)?;
    descriptor.check_size(f::TOKENS, 65_535)?;
    descriptor.check_size(f::GROUP, caps.group.into())?;
    check_elements(descriptor, f::ELEMENTS, caps)?;
    descriptor.check_size(f::BUDGET, caps.slots.into())?;
    let get = |field| descriptor.get(field);
    let (budget, sink) = (get(f::BUDGET), get(f::SINK));
    descriptor.check_range(f::SINK, 0..=budget - 1)?;
    descriptor.check_range(f::WINDOW, 0..=budget - 1 - sink)?;
    descriptor.check_range(f::SHIFT, 0..=MOST_SHIFT)?;
    let (tokens, vector, again) = (get(f::TOKENS), 2 * get(f::ELEMENTS), get(f::AGAIN));
    descriptor.check_range(f::AGAIN, 0..=u64::from(caps.recompute).min(65_535 - tokens))?;
    let queries = get(f::GROUP) * vector;
    let operands = [
        Extent::rows(f::QUERY_ADDRESS, f::QUERY_STRIDE, tokens, queries),
        Extent::rows(f::KEY_ADDRESS, f::KEY_STRIDE, again + tokens, vector),
        Extent::rows(f::VALUE_ADDRESS, f::VALUE_STRIDE, again + tokens, vector),
        Extent::rows(f::OUT_ADDRESS, f::OUT_STRIDE, tokens, queries).written(),
    ];
    descriptor.check_operands(window, &operands)?;
    Ok(operands.into())
}

fn check_clear(descriptor: &Descriptor, caps: &Caps) -> Result<(), Refusal> {
    check_reserved(descriptor, clear::FIELDS, caps)?;
    check_head(descriptor, clear::FIRST, caps)?;
    descriptor.check_size(clear::HEADS, u64::from(caps.heads) - descriptor.get(clear::FIRST))
}

fn check_refresh(descriptor: &Descriptor, caps: &Caps) -> Result<(), Refusal> {
    use refresh as f;
    check_reserved(descriptor, f::FIELDS, caps)?;
    descriptor.check_range(f::THRESHOLD, 0..=(1 << caps.score_bits) - 1)?;
    for field in [f::HIGH_MSB, f::HIGH_LSB, f::LOW_MSB, f::LOW_LSB] {
        descriptor.check_range(field, 2 * u64::from(caps.cache_rows)..=(1 << caps.interval_bits) - 1)?;
    }
    Ok(())
}

fn check_recompute(descriptor: &Descriptor, caps: &Caps) -> Result<(), Refusal> {
    use recompute as f;
    check_reserved(descriptor, f::FIELDS, caps)?;
    check_head(descriptor, f::HEAD, caps)?;
    descriptor.check_range(f::SLOT, 0..=u64::from(caps.recompute) - 1)?;
    descriptor.check_range(f::POSITION, 0..=u64::from(caps.slots) - 1)
}

fn check_save(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use save as f;
    check_reserved(descriptor, f::FIELDS, caps)?;
    check_head(descriptor, f::HEAD, caps)?;
    // No head has more tokens.
    descriptor.check_range(f::FIRST, 0..=u64::from(caps.slots) - 1)?;
    descriptor.check_size(f::TOKENS, u64::from(caps.slots) - descriptor.get(f::FIRST))?;
    check_elements(descriptor, f::ELEMENTS, caps)?;
    let (tokens, row_bytes) = (descriptor.get(f::TOKENS), HEAD_BYTES + 4 * descriptor.get(f::ELEMENTS));
    let out = Extent::rows(f::OUT_ADDRESS, f::OUT_STRIDE, tokens, row_bytes).written();
    descriptor.check_operand(window, &out)?;
    Ok(vec![out])
}

fn check_restore(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use restore as f;
    check_reserved(descriptor, f::FIELDS, caps)?;
    check_head(descriptor, f::HEAD, caps)?;
    descriptor.check_range(f::FIRST, 0..=u64::from(caps.slots) - 1)?;
    descriptor.check_size(f::TOKENS, u64::from(caps.slots) - descriptor.get(f::FIRST))?;
    check_elements(descriptor, f::ELEMENTS, caps)?;
    let (tokens, row_bytes) = (descriptor.get(f::TOKENS), HEAD_BYTES + 4 * descriptor.get(f::ELEMENTS));
    let saved = Extent::rows(f::SAVED_ADDRESS, f::SAVED_STRIDE, tokens, row_bytes);
    descriptor.check_operand(window, &saved)?;
    Ok(vec![saved])
}
