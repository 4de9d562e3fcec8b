//! The checks of the hardware, in their order.

use super::{Caps, layout as l};
use crate::descriptor::in_window;
use crate::layout::Field;
use crate::{ALIGNMENT, Descriptor, ErrorCode, Refusal, Window};

/// Checks a descriptor behind its header as the hardware does.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    let get = |field: Field| descriptor.get(field);
    let wrong = |code, field: Field, expected: String| {
        Err(Refusal::new(code, field.name, format!("{:#x}", get(field)), expected))
    };
    let steps = get(l::STEPS);
    let has = |bit: u32| steps >> bit & 1 == 1;
    let known = l::STEP_BITS.iter().fold(3 << l::FORMAT_BIT, |bits, (_, bit, _)| bits | 1 << bit);
    if steps & !known != 0 {
        return wrong(ErrorCode::Reserved, l::STEPS, format!("made of the bits of {known:#x}"));
    }
    if has(l::GAIN_BIT) && !has(l::NORM_BIT) {
        return wrong(ErrorCode::Reserved, l::STEPS, "without GAIN, or with NORM".into());
    }
    if get(l::EPSILON) >> 40 != 0 {
        return wrong(ErrorCode::Reserved, l::EPSILON, "below 2^40".into());
    }
    for zero in [l::ZERO_0, l::ZERO_1] {
        if get(zero) != 0 {
            return wrong(ErrorCode::Reserved, zero, "0x0".into());
        }
    }
    let format = steps >> l::FORMAT_BIT & 3;
    let width = match format {
        0 => 16,
        1 => 8,
        2 => 4,
        _ => return wrong(ErrorCode::Field, l::STEPS, "with a format of 0, 1 or 2 in its bits 8 and 9".into()),
    };
    let size = |field: Field, most: u64| {
        let value = get(field);
        if (1..=most).contains(&value) {
            return Ok(());
        }
        Err(Refusal::new(ErrorCode::Size, field.name, value.to_string(), format!("1 to {most}")))
    };
    size(l::ROWS, 65535)?;
    size(l::COLUMNS, caps.max_columns())?;
    let operands = [
        (true, l::X_ADDRESS, Some(l::X_STRIDE), 16),
        (has(l::ADD_BIT), l::ADDEND_ADDRESS, Some(l::ADDEND_STRIDE), 16),
        (has(l::MULTIPLY_BIT), l::FACTOR_ADDRESS, Some(l::FACTOR_STRIDE), 16),
        (has(l::GAIN_BIT), l::GAIN_ADDRESS, None, 16),
        (true, l::OUT_ADDRESS, Some(l::OUT_STRIDE), width),
    ];
    for (_, address, stride, width) in operands.into_iter().filter(|(used, ..)| *used) {
        for field in [Some(address), stride].into_iter().flatten() {
            if !get(field).is_multiple_of(ALIGNMENT) {
                return wrong(ErrorCode::Alignment, field, format!("a multiple of {ALIGNMENT:#x}"));
            }
        }
        let row_bytes = (get(l::COLUMNS) * width).div_ceil(8);
        let last_row = stride.map_or(0, |stride| u128::from(get(l::ROWS) - 1) * u128::from(get(stride)));
        let last = u128::from(get(address)) + last_row + u128::from(row_bytes) - 1;
        in_window(window, address.name, get(address), last, ErrorCode::Window)?;
    }
    Ok(())
}
