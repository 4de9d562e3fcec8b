//! The checks of the hardware, in their order.

use super::operations::{append, matmul, quantize, scores, vector as rows};
use super::{Caps, Codebook, Panels, Tokens};
use crate::layout::{Field, header};
use crate::vector;
use crate::{ALIGNMENT, Descriptor, ErrorCode, Extent, Refusal, Window};

/// The largest opcode.
const OPCODES: u8 = append::OPCODE;

/// Checks the fields after the header as the hardware does. The hardware finds errors in tokens and codebooks only
/// while the operation runs.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    operands(descriptor, caps, window).map(|_| ())
}

/// The operands of a right descriptor.
pub(super) fn operands(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    let refused = |expected| Err(descriptor.refusal(ErrorCode::Field, header::OPCODE, expected));
    match descriptor.get(header::OPCODE) as u8 {
        matmul::OPCODE | scores::OPCODE => check_matmul(descriptor, caps, window),
        rows::OPCODE => vector::operands(descriptor, &caps.vector, window),
        quantize::OPCODE if caps.segment > 0 => check_quantize(descriptor, caps, window),
        quantize::OPCODE => refused("0x1, 0x2 or 0x3: the device has nothing that makes tokens"),
        append::OPCODE if caps.appends() => check_append(descriptor, caps, window),
        append::OPCODE => refused("0x1 to 0x4: the device has nothing that puts tokens into panels"),
        _ => descriptor.check_header(window, OPCODES).map(|()| Vec::new()),
    }
}

/// Checks what must be 0. No part that a build may lack has fields of its own.
fn check_reserved(descriptor: &Descriptor, fields: &[Field]) -> Result<(), Refusal> {
    descriptor.check_reserved(fields, &|_| false)
}

/// A product of tokens or of integers: both have the same fields.
fn check_matmul(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use matmul as m;
    check_reserved(descriptor, m::FIELDS)?;
    for (field, most) in [(m::TOKENS, 65535), (m::CHANNELS, 65535), (m::INNER, caps.inner.into())] {
        descriptor.check_size(field, most)?;
    }
    descriptor.check_range(m::OUTLIERS, 0..=2 * u64::from(caps.outliers))?;
    let get = |field| descriptor.get(field);
    let (tokens, channels, inner) = (get(m::TOKENS), get(m::CHANNELS), get(m::INNER));
    let token_bytes = if get(header::OPCODE) == scores::OPCODE.into() {
        inner.next_multiple_of(ALIGNMENT)
    } else {
        Tokens::row_bytes_of(inner, get(m::OUTLIERS))
    };
    let panels = caps.panels(channels as usize) as u64;
    let panel_bytes = Panels::panel_bytes_of(caps, inner as usize) as u64;
    let operands = [
        Extent::rows(m::TOKEN_ADDRESS, m::TOKEN_STRIDE, tokens, token_bytes),
        Extent::rows(m::PANEL_ADDRESS, m::PANEL_STRIDE, panels, panel_bytes),
        Extent::row(m::CONSTANTS_ADDRESS, Codebook::RECORD_BYTES * channels),
        Extent::row(m::CODEBOOK_ADDRESS, Codebook::BYTES),
        Extent::rows(m::OUT_ADDRESS, m::OUT_STRIDE, tokens, 2 * channels).written(),
        Extent::rows(m::ADDEND_ADDRESS, m::ADDEND_STRIDE, tokens, 2 * channels),
    ];
    // The addends are the last operand.
    let used = if descriptor.has(m::ADDS) { operands.len() } else { operands.len() - 1 };
    descriptor.check_operands(window, &operands[..used])?;
    Ok(operands[..used].to_vec())
}

fn check_quantize(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use quantize as q;
    check_reserved(descriptor, q::FIELDS)?;
    descriptor.check_size(q::ROWS, 65535)?;
    descriptor.check_size(q::COLUMNS, caps.inner.into())?;
    let get = |field| descriptor.get(field);
    let (rows, columns) = (get(q::ROWS), get(q::COLUMNS));
    descriptor.check_range(q::LARGEST, 0..=caps.outliers.into())?;
    // Both together are at most the number of elements.
    let left = columns.saturating_sub(get(q::LARGEST));
    descriptor.check_range(q::SMALLEST, 0..=left.min(caps.outliers.into()))?;
    descriptor.check_range(q::LARGEST, 0..=columns)?;
    let token_bytes = Tokens::row_bytes_of(columns, get(q::LARGEST) + get(q::SMALLEST));
    let operands = [
        Extent::rows(q::X_ADDRESS, q::X_STRIDE, rows, 2 * columns),
        Extent::row(q::CODEBOOK_ADDRESS, Codebook::BYTES),
        Extent::rows(q::OUT_ADDRESS, q::OUT_STRIDE, rows, token_bytes).written(),
    ];
    descriptor.check_operands(window, &operands)?;
    Ok(operands.into())
}

fn check_append(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use append as a;
    check_reserved(descriptor, a::FIELDS)?;
    let get = |field| descriptor.get(field);
    let position = descriptor.has(a::POSITION);
    descriptor.check_size(a::ELEMENTS, caps.inner.into())?;
    let (in_panel, inputs) = (caps.panel_channels() as u64, u64::from(caps.inputs));
    let (number, elements) = (get(a::NUMBER), get(a::ELEMENTS));
    descriptor.check_range(a::NUMBER, 0..=if position { u64::from(caps.inner) } else { in_panel } - 1)?;
    let beat_bytes = in_panel * inputs / 2;
    // Up to what changes.
    let panels = if position {
        let row_bytes = (number / inputs + 1) * beat_bytes;
        Extent::rows(a::PANEL_ADDRESS, a::PANEL_STRIDE, elements.div_ceil(in_panel), row_bytes)
    } else {
        Extent::row(a::PANEL_ADDRESS, elements.div_ceil(inputs) * beat_bytes)
    };
    let each = if position { 2 } else { Codebook::RECORD_BYTES };
    let operands = [
        Extent::row(a::TOKEN_ADDRESS, Tokens::row_bytes_of(elements, 0)),
        panels.written(),
        Extent::row(a::SCALES_ADDRESS, (each * (number + 1)).next_multiple_of(ALIGNMENT)).written(),
    ];
    descriptor.check_operands(window, &operands)?;
    Ok(operands.into())
}
