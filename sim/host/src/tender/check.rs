//! The checks of the hardware, in their order.

use super::operations::{matmul, pack, vector as rows};
use super::{Caps, Constants, Panels};
use crate::layout::{Field, header};
use crate::vector::{self, Integer};
use crate::{Descriptor, ErrorCode, Extent, Refusal, Window};

/// The largest opcode.
const OPCODES: u8 = rows::OPCODE;

/// Checks the fields after the header as the hardware does. The hardware finds errors in a table only while the
/// operation runs.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    operands(descriptor, caps, window).map(|_| ())
}

/// The operands of a right descriptor.
pub(super) fn operands(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    match descriptor.get(header::OPCODE) as u8 {
        matmul::OPCODE => check_matmul(descriptor, caps, window),
        pack::OPCODE => check_pack(descriptor, caps, window),
        rows::OPCODE => vector::operands(descriptor, &caps.vector, window),
        _ => descriptor.check_header(window, OPCODES).map(|()| Vec::new()),
    }
}

/// Checks what must be 0, then that the device has integers of this width. Returns the width.
fn check_mode(descriptor: &Descriptor, caps: &Caps, fields: &[Field], int8: Field) -> Result<Integer, Refusal> {
    descriptor.check_reserved(fields, &|part| part == "explicit" && caps.explicit)?;
    match descriptor.has(int8) {
        false => Ok(Integer::Int4),
        true if caps.int8 => Ok(Integer::Int8),
        true => Err(descriptor.refusal(ErrorCode::Field, int8, "0: the device multiplies 4 bits only")),
    }
}

fn check_matmul(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use matmul as m;
    let integer = check_mode(descriptor, caps, m::FIELDS, m::INT8)?;
    for (field, most) in
        [(m::ROWS, 65535), (m::COLUMNS, 65535), (m::CHANNELS, caps.depth.into()), (m::STEPS, caps.steps.into())]
    {
        descriptor.check_size(field, most)?;
    }
    let get = |field| descriptor.get(field);
    let (rows, columns, channels) = (get(m::ROWS), get(m::COLUMNS), get(m::CHANNELS));
    let (panel_rows, panel_columns) = (caps.panel_rows(integer), caps.panel_columns(integer));
    let panels = |address, stride, (lines, in_panel): (u64, usize), inner| {
        let row_bytes = inner * Panels::word_bytes(integer, in_panel) as u64;
        Extent::rows(address, stride, lines.div_ceil(in_panel as u64), row_bytes)
    };
    let records = if descriptor.has(m::PER_ROW) { rows } else { columns };
    let out = if descriptor.has(m::INTEGERS) {
        panels(m::OUT_ADDRESS, m::OUT_STRIDE, (rows, panel_rows), columns)
    } else {
        Extent::rows(m::OUT_ADDRESS, m::OUT_STRIDE, rows, 2 * columns)
    };
    let operands = [
        panels(m::A_ADDRESS, m::A_STRIDE, (rows, panel_rows), channels),
        panels(m::B_ADDRESS, m::B_STRIDE, (columns, panel_columns), channels).early(),
        Extent::row(m::TABLE_ADDRESS, 2 * get(m::STEPS)).early(),
        Extent::row(m::CONSTANTS_ADDRESS, Constants::BYTES * records).early(),
        out.written(),
    ];
    descriptor.check_operands(window, &operands)?;
    Ok(operands.into())
}

fn check_pack(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    use pack as p;
    let integer = check_mode(descriptor, caps, p::FIELDS, p::INT8)?;
    descriptor.check_size(p::ROWS, 65535)?;
    descriptor.check_size(p::COLUMNS, 65535)?;
    let (rows, columns) = (descriptor.get(p::ROWS), descriptor.get(p::COLUMNS));
    let lines = caps.panel_rows(integer);
    let (panels, word) = (rows.div_ceil(lines as u64), Panels::word_bytes(integer, lines) as u64);
    let operands = [
        Extent::rows(p::X_ADDRESS, p::X_STRIDE, rows, 2 * columns),
        Extent::row(p::CONSTANTS_ADDRESS, Constants::BYTES * columns).early(),
        Extent::rows(p::OUT_ADDRESS, p::OUT_STRIDE, panels, columns * word).written(),
    ];
    descriptor.check_operands(window, &operands)?;
    Ok(operands.into())
}
