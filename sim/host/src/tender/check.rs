//! The checks of the hardware, in their order.

use super::layout::{self as l, matmul, pack};
use super::{Caps, Panels};
use crate::descriptor::Extent;
use crate::layout::{Field, header};
use crate::vector::{self, Integer};
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// Checks the fields after the header as the hardware does. The hardware finds errors in a table only while the
/// operation runs.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    match descriptor.get(header::OPCODE) as u8 {
        l::MATMUL_VALUE => check_matmul(descriptor, caps, window),
        l::PACK_VALUE => check_pack(descriptor, caps, window),
        l::VECTOR_VALUE => vector::check(descriptor, &caps.vector, window),
        _ => descriptor.check_header(window, l::OPCODES),
    }
}

/// Flags and fields that must be 0, then the mode.
fn mode(descriptor: &Descriptor, caps: &Caps, field: Field, known: u64, zeros: &[Field]) -> Result<Integer, Refusal> {
    let flags = descriptor.get(field);
    let wrong = |code, expected: String| Err(Refusal::new(code, field.name, format!("{flags:#x}"), expected));
    if flags & !known != 0 {
        return wrong(ErrorCode::Reserved, format!("made of the bits of {known:#x}"));
    }
    descriptor.check_zeros(zeros)?;
    match flags >> l::INT8_BIT & 1 {
        0 => Ok(Integer::Int4),
        _ if caps.int8 => Ok(Integer::Int8),
        _ => wrong(ErrorCode::Field, "without INT8: the device multiplies 4 bits only".into()),
    }
}

fn check_matmul(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    let there = |bit: u32| bit != l::EXPLICIT_BIT || caps.explicit;
    let bits = l::OPTION_BITS.iter().map(|(_, bit, _)| *bit).filter(|bit| there(*bit));
    let known = bits.fold(0, |bits, bit| bits | 1 << bit);
    let integer = mode(descriptor, caps, matmul::OPTIONS, known, matmul::ZEROS)?;
    for (field, most) in [
        (matmul::ROWS, 65535),
        (matmul::COLUMNS, 65535),
        (matmul::CHANNELS, caps.depth.into()),
        (matmul::STEPS, caps.steps.into()),
    ] {
        descriptor.check_size(field, most)?;
    }
    let get = |field| descriptor.get(field);
    let (rows, columns, channels) = (get(matmul::ROWS), get(matmul::COLUMNS), get(matmul::CHANNELS));
    let has = |bit: u32| get(matmul::OPTIONS) >> bit & 1 == 1;
    let (panel_rows, panel_columns) = (caps.panel_rows(integer), caps.panel_columns(integer));
    let panels = |lines: u64, in_panel: usize, inner: u64, address, stride| Extent {
        address,
        stride: Some(stride),
        rows: lines.div_ceil(in_panel as u64),
        row_bytes: inner * Panels::word_bytes(integer, in_panel) as u64,
    };
    let row = |address, row_bytes| Extent { address, stride: None, rows: 1, row_bytes };
    let out = if has(l::INTEGERS_BIT) {
        panels(rows, panel_rows, columns, matmul::OUT_ADDRESS, matmul::OUT_STRIDE)
    } else {
        Extent { address: matmul::OUT_ADDRESS, stride: Some(matmul::OUT_STRIDE), rows, row_bytes: 2 * columns }
    };
    for operand in [
        panels(rows, panel_rows, channels, matmul::A_ADDRESS, matmul::A_STRIDE),
        panels(columns, panel_columns, channels, matmul::B_ADDRESS, matmul::B_STRIDE),
        row(matmul::TABLE_ADDRESS, 2 * get(matmul::STEPS)),
        row(matmul::CONSTANTS_ADDRESS, l::RECORD_BYTES * if has(l::PER_ROW_BIT) { rows } else { columns }),
        out,
    ] {
        descriptor.check_operand(window, &operand)?;
    }
    Ok(())
}

fn check_pack(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    let known = l::PACK_BITS.iter().fold(0, |bits, bit| bits | 1 << bit);
    let integer = mode(descriptor, caps, pack::OPTIONS, known, pack::ZEROS)?;
    descriptor.check_size(pack::ROWS, 65535)?;
    descriptor.check_size(pack::COLUMNS, 65535)?;
    let (rows, columns) = (descriptor.get(pack::ROWS), descriptor.get(pack::COLUMNS));
    let lines = caps.panel_rows(integer);
    let (panels, word) = (rows.div_ceil(lines as u64), Panels::word_bytes(integer, lines) as u64);
    for (address, stride, rows, row_bytes) in [
        (pack::X_ADDRESS, Some(pack::X_STRIDE), rows, 2 * columns),
        (pack::CONSTANTS_ADDRESS, None, 1, l::RECORD_BYTES * columns),
        (pack::OUT_ADDRESS, Some(pack::OUT_STRIDE), panels, columns * word),
    ] {
        descriptor.check_operand(window, &Extent { address, stride, rows, row_bytes })?;
    }
    Ok(())
}
