//! The checks of the hardware, in their order.

use super::Caps;
use super::layout::{self as l, attention, clear, linear, recompute, refresh, save};
use crate::descriptor::Extent;
use crate::layout::{Field, header};
use crate::vector;
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// Checks the fields after the header as the hardware does. Only the hardware knows the state of a head: how many
/// tokens [`SaveJob`](super::SaveJob) and [`RecomputeJob`](super::RecomputeJob) find there, and which slots are in use.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    match descriptor.get(header::OPCODE) as u8 {
        l::LINEAR_VALUE => check_linear(descriptor, caps, window),
        l::ATTENTION_VALUE => check_attention(descriptor, caps, window),
        l::VECTOR_VALUE => vector::check(descriptor, &caps.vector, window),
        l::CLEAR_VALUE => check_clear(descriptor, caps),
        l::REFRESH_VALUE => check_refresh(descriptor, caps),
        l::SAVE_VALUE if caps.save => check_save(descriptor, caps, window),
        l::SAVE_VALUE => {
            let expected = "0x1 to 0x5: the device does not write cached tokens to memory";
            Err(Refusal::new(ErrorCode::Field, header::OPCODE.name, "0x6", expected))
        }
        l::RECOMPUTE_VALUE if caps.recompute > 0 => check_recompute(descriptor, caps),
        _ => {
            descriptor.check_header(window, caps.opcodes())?;
            let opcode = format!("{:#x}", descriptor.get(header::OPCODE));
            Err(Refusal::new(ErrorCode::Field, header::OPCODE.name, opcode, "0x1 to 0x6, or 0x8"))
        }
    }
}

fn check_options(descriptor: &Descriptor, field: Field, bits: &[u32]) -> Result<(), Refusal> {
    let (value, known) = (descriptor.get(field), bits.iter().fold(0, |known, bit| known | 1 << bit));
    if value & !known == 0 {
        return Ok(());
    }
    let expected = format!("made of the bits of {known:#x}");
    Err(Refusal::new(ErrorCode::Reserved, field.name, format!("{value:#x}"), expected))
}

/// Checks a number: `least` to `most`.
fn check_range(descriptor: &Descriptor, field: Field, least: u64, most: u64) -> Result<(), Refusal> {
    let value = descriptor.get(field);
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Refusal::new(ErrorCode::Size, field.name, value.to_string(), format!("{least} to {most}")))
}

fn check_head(descriptor: &Descriptor, field: Field, caps: &Caps) -> Result<(), Refusal> {
    check_range(descriptor, field, 0, u64::from(caps.heads) - 1)
}

/// Elements of a vector: whole columns of the array.
fn check_elements(descriptor: &Descriptor, field: Field, caps: &Caps) -> Result<(), Refusal> {
    let value = descriptor.get(field);
    if value.is_multiple_of(caps.columns.into()) && (1..=u64::from(caps.width)).contains(&value) {
        return Ok(());
    }
    let expected = format!("a multiple of {} up to {}", caps.columns, caps.width);
    Err(Refusal::new(ErrorCode::Size, field.name, value.to_string(), expected))
}

fn rows(address: Field, stride: Field, rows: u64, row_bytes: u64) -> Extent {
    Extent { address, stride: Some(stride), rows, row_bytes }
}

fn check_linear(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    use linear as f;
    check_options(descriptor, f::OPTIONS, &[l::EXACT_BIT])?;
    descriptor.check_zeros(f::ZEROS)?;
    for (field, most) in [(f::ROWS, caps.tokens.into()), (f::COLUMNS, 65_535), (f::CHANNELS, caps.inner.into())] {
        descriptor.check_size(field, most)?;
    }
    let get = |field| descriptor.get(field);
    let (tokens, columns, channels, panel) = (get(f::ROWS), get(f::COLUMNS), get(f::CHANNELS), caps.panel() as u64);
    for operand in [
        rows(f::X_ADDRESS, f::X_STRIDE, tokens, 2 * channels),
        rows(f::PANEL_ADDRESS, f::PANEL_STRIDE, columns.div_ceil(panel), channels * panel),
        Extent { address: f::CONSTANTS_ADDRESS, stride: None, rows: 1, row_bytes: l::CONSTANT_BYTES * columns },
        rows(f::OUT_ADDRESS, f::OUT_STRIDE, tokens, 2 * columns),
    ] {
        descriptor.check_operand(window, &operand)?;
    }
    Ok(())
}

fn check_attention(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    use attention as f;
    check_options(descriptor, f::OPTIONS, &[l::EXACT_BIT, l::LATE_BIT])?;
    descriptor.check_zeros(f::ZEROS)?;
    let again = descriptor.get(f::AGAIN);
    if again > 0 && (caps.recompute == 0 || descriptor.get(f::OPTIONS) >> l::LATE_BIT & 1 == 1) {
        let expected = if caps.recompute == 0 { "0" } else { "0 with late values" };
        return Err(Refusal::new(ErrorCode::Reserved, f::AGAIN.name, again.to_string(), expected));
    }
    check_head(descriptor, f::HEAD, caps)?;
    descriptor.check_size(f::TOKENS, 65_535)?;
    descriptor.check_size(f::GROUP, caps.group.into())?;
    check_elements(descriptor, f::ELEMENTS, caps)?;
    descriptor.check_size(f::BUDGET, caps.slots.into())?;
    let get = |field| descriptor.get(field);
    let (budget, sink) = (get(f::BUDGET), get(f::SINK));
    check_range(descriptor, f::SINK, 0, budget - 1)?;
    check_range(descriptor, f::WINDOW, 0, budget - 1 - sink)?;
    check_range(descriptor, f::SHIFT, 0, l::MOST_SHIFT)?;
    let (tokens, vector, again) = (get(f::TOKENS), 2 * get(f::ELEMENTS), get(f::AGAIN));
    check_range(descriptor, f::AGAIN, 0, u64::from(caps.recompute).min(65_535 - tokens))?;
    let queries = get(f::GROUP) * vector;
    for operand in [
        rows(f::QUERY_ADDRESS, f::QUERY_STRIDE, tokens, queries),
        rows(f::KEY_ADDRESS, f::KEY_STRIDE, again + tokens, vector),
        rows(f::VALUE_ADDRESS, f::VALUE_STRIDE, again + tokens, vector),
        rows(f::OUT_ADDRESS, f::OUT_STRIDE, tokens, queries),
    ] {
        descriptor.check_operand(window, &operand)?;
    }
    Ok(())
}

fn check_clear(descriptor: &Descriptor, caps: &Caps) -> Result<(), Refusal> {
    descriptor.check_zeros(clear::ZEROS)?;
    check_head(descriptor, clear::FIRST, caps)?;
    check_range(descriptor, clear::HEADS, 1, u64::from(caps.heads) - descriptor.get(clear::FIRST))
}

fn check_refresh(descriptor: &Descriptor, caps: &Caps) -> Result<(), Refusal> {
    use refresh as f;
    descriptor.check_zeros(f::ZEROS)?;
    check_range(descriptor, f::THRESHOLD, 0, (1 << caps.score_bits) - 1)?;
    for field in [f::HIGH_MSB, f::HIGH_LSB, f::LOW_MSB, f::LOW_LSB] {
        check_range(descriptor, field, 2 * u64::from(caps.cache_rows), (1 << caps.interval_bits) - 1)?;
    }
    Ok(())
}

fn check_recompute(descriptor: &Descriptor, caps: &Caps) -> Result<(), Refusal> {
    use recompute as f;
    descriptor.check_zeros(f::ZEROS)?;
    check_head(descriptor, f::HEAD, caps)?;
    check_range(descriptor, f::SLOT, 0, u64::from(caps.recompute) - 1)?;
    check_range(descriptor, f::POSITION, 0, u64::from(caps.slots) - 1)
}

fn check_save(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    use save as f;
    descriptor.check_zeros(f::ZEROS)?;
    check_head(descriptor, f::HEAD, caps)?;
    // No head has more tokens.
    check_range(descriptor, f::FIRST, 0, u64::from(caps.slots) - 1)?;
    check_range(descriptor, f::TOKENS, 1, u64::from(caps.slots) - descriptor.get(f::FIRST))?;
    check_elements(descriptor, f::ELEMENTS, caps)?;
    let row_bytes = l::HEAD_BYTES + 4 * descriptor.get(f::ELEMENTS);
    descriptor.check_operand(window, &rows(f::OUT_ADDRESS, f::OUT_STRIDE, descriptor.get(f::TOKENS), row_bytes))
}
