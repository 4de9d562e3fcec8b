//! The checks of the hardware, in their order.

use super::layout::{self as l, append, matmul, quantize};
use super::{Caps, Panels, Tokens};
use crate::descriptor::Extent;
use crate::layout::{Field, header};
use crate::vector;
use crate::{ALIGNMENT, Descriptor, ErrorCode, Refusal, Window};

/// Checks the fields after the header as the hardware does. The hardware finds errors in tokens and codebooks only
/// while the operation runs.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    match descriptor.get(header::OPCODE) as u8 {
        l::MATMUL_VALUE | l::SCORES_VALUE => check_matmul(descriptor, caps, window),
        l::VECTOR_VALUE => vector::check(descriptor, &caps.vector, window),
        l::QUANTIZE_VALUE if caps.segment > 0 => check_quantize(descriptor, caps, window),
        l::QUANTIZE_VALUE => {
            let expected = "0x1, 0x2 or 0x3: the device has nothing that makes tokens";
            Err(Refusal::new(ErrorCode::Field, header::OPCODE.name, "0x4", expected))
        }
        l::APPEND_VALUE if caps.appends() => check_append(descriptor, caps, window),
        l::APPEND_VALUE => {
            let expected = "0x1 to 0x4: the device has nothing that puts tokens into panels";
            Err(Refusal::new(ErrorCode::Field, header::OPCODE.name, "0x5", expected))
        }
        _ => descriptor.check_header(window, l::OPCODES),
    }
}

/// Checks that a field is made of known bits.
fn check_bits(descriptor: &Descriptor, field: Field, known: u64) -> Result<(), Refusal> {
    let value = descriptor.get(field);
    if value & !known == 0 {
        return Ok(());
    }
    let expected = format!("made of the bits of {known:#x}");
    Err(Refusal::new(ErrorCode::Reserved, field.name, format!("{value:#x}"), expected))
}

/// Checks a number that may be 0: up to `most`.
fn check_most(descriptor: &Descriptor, field: Field, most: u64) -> Result<(), Refusal> {
    let value = descriptor.get(field);
    if value <= most {
        return Ok(());
    }
    Err(Refusal::new(ErrorCode::Size, field.name, value.to_string(), format!("0 to {most}")))
}

fn row(address: Field, row_bytes: u64) -> Extent {
    Extent { address, stride: None, rows: 1, row_bytes }
}

fn check_matmul(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    check_bits(descriptor, matmul::OPTIONS, 1 << l::EXACT_BIT)?;
    check_bits(descriptor, matmul::ADD, 1 << l::ADD_BIT)?;
    let integers = descriptor.get(header::OPCODE) == l::SCORES_VALUE.into();
    descriptor.check_zeros(if integers { &[matmul::OUTLIERS] } else { &[] })?;
    descriptor.check_zeros(matmul::ZEROS)?;
    for (field, most) in [(matmul::TOKENS, 65535), (matmul::CHANNELS, 65535), (matmul::INNER, caps.inner.into())] {
        descriptor.check_size(field, most)?;
    }
    check_most(descriptor, matmul::OUTLIERS, 2 * u64::from(caps.outliers))?;
    let get = |field| descriptor.get(field);
    let (tokens, channels, inner) = (get(matmul::TOKENS), get(matmul::CHANNELS), get(matmul::INNER));
    let rows = |address, stride, rows, row_bytes| Extent { address, stride: Some(stride), rows, row_bytes };
    let results = |address, stride| rows(address, stride, tokens, 2 * channels);
    let token_bytes = match integers {
        false => Tokens::row_bytes_of(inner, get(matmul::OUTLIERS)),
        true => inner.next_multiple_of(ALIGNMENT),
    };
    let panels = caps.panels(channels as usize) as u64;
    let panel_bytes = Panels::panel_bytes_of(caps, inner as usize) as u64;
    let addends = (get(matmul::ADD) != 0).then(|| results(matmul::ADDEND_ADDRESS, matmul::ADDEND_STRIDE));
    for operand in [
        rows(matmul::TOKEN_ADDRESS, matmul::TOKEN_STRIDE, tokens, token_bytes),
        rows(matmul::PANEL_ADDRESS, matmul::PANEL_STRIDE, panels, panel_bytes),
        row(matmul::CONSTANTS_ADDRESS, l::RECORD_BYTES * channels),
        row(matmul::CODEBOOK_ADDRESS, l::CODEBOOK_BYTES),
        results(matmul::OUT_ADDRESS, matmul::OUT_STRIDE),
    ]
    .into_iter()
    .chain(addends)
    {
        descriptor.check_operand(window, &operand)?;
    }
    Ok(())
}

fn check_quantize(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    check_bits(descriptor, quantize::OPTIONS, 1 << l::EXACT_BIT | 1 << l::THREE_BITS_BIT)?;
    descriptor.check_zeros(quantize::ZEROS)?;
    descriptor.check_size(quantize::ROWS, 65535)?;
    descriptor.check_size(quantize::COLUMNS, caps.inner.into())?;
    let get = |field| descriptor.get(field);
    let (rows, columns) = (get(quantize::ROWS), get(quantize::COLUMNS));
    check_most(descriptor, quantize::LARGEST, caps.outliers.into())?;
    // Both together are at most the number of elements.
    let left = columns.saturating_sub(get(quantize::LARGEST));
    check_most(descriptor, quantize::SMALLEST, left.min(caps.outliers.into()))?;
    if get(quantize::LARGEST) > columns {
        return check_most(descriptor, quantize::LARGEST, columns);
    }
    let token_bytes = Tokens::row_bytes_of(columns, get(quantize::LARGEST) + get(quantize::SMALLEST));
    let x = Extent { address: quantize::X_ADDRESS, stride: Some(quantize::X_STRIDE), rows, row_bytes: 2 * columns };
    descriptor.check_operand(window, &x)?;
    descriptor.check_operand(window, &row(quantize::CODEBOOK_ADDRESS, l::CODEBOOK_BYTES))?;
    let (address, stride) = (quantize::OUT_ADDRESS, Some(quantize::OUT_STRIDE));
    descriptor.check_operand(window, &Extent { address, stride, rows, row_bytes: token_bytes })
}

fn check_append(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    check_bits(descriptor, append::OPTIONS, 1 << l::POSITION_BIT)?;
    descriptor.check_zeros(append::ZEROS)?;
    let get = |field| descriptor.get(field);
    let position = get(append::OPTIONS) != 0;
    let unused: &[Field] =
        if position { &[append::DENSE_FACTOR, append::OUTLIER_FACTOR] } else { &[append::PANEL_STRIDE] };
    descriptor.check_zeros(unused)?;
    descriptor.check_size(append::ELEMENTS, caps.inner.into())?;
    let (in_panel, inputs) = (caps.panel_channels() as u64, u64::from(caps.inputs));
    let (number, elements) = (get(append::NUMBER), get(append::ELEMENTS));
    check_most(descriptor, append::NUMBER, if position { u64::from(caps.inner) } else { in_panel } - 1)?;
    let token_bytes = Tokens::row_bytes_of(elements, 0);
    descriptor.check_operand(window, &row(append::TOKEN_ADDRESS, token_bytes))?;
    let beat_bytes = in_panel * inputs / 2;
    // Up to what changes.
    let panels = if position {
        let (stride, rows) = (Some(append::PANEL_STRIDE), elements.div_ceil(in_panel));
        Extent { address: append::PANEL_ADDRESS, stride, rows, row_bytes: (number / inputs + 1) * beat_bytes }
    } else {
        row(append::PANEL_ADDRESS, elements.div_ceil(inputs) * beat_bytes)
    };
    descriptor.check_operand(window, &panels)?;
    let each = if position { 2 } else { l::RECORD_BYTES };
    descriptor.check_operand(window, &row(append::SCALES_ADDRESS, (each * (number + 1)).next_multiple_of(ALIGNMENT)))
}
