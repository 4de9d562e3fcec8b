//! The checks of the hardware, in their order.

use super::{Caps, operations::vector as v};
use crate::descriptor::Extent;
use crate::layout::Field;
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// Kinds of the norm, beside the norm by the root mean square.
pub(super) const SOFTMAX: u64 = 1;
pub(super) const LAYER_NORM: u64 = 2;

/// Checks the fields after the header as the hardware does.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    operands(descriptor, caps, window).map(|_| ())
}

/// The operands of a right descriptor.
pub(crate) fn operands(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<Vec<Extent>, Refusal> {
    let (get, has) = (|field: Field| descriptor.get(field), |field: Field| descriptor.has(field));
    descriptor.check_reserved(v::FIELDS, &|_| true)?;
    let width = check_built_in(descriptor, caps)?;
    descriptor.check_size(v::ROWS, 65535)?;
    descriptor.check_size(v::COLUMNS, caps.max_columns())?;
    let columns = get(v::COLUMNS);
    if has(v::ROTATE) && !columns.is_multiple_of(2) {
        return Err(descriptor.wrong_size(v::COLUMNS, "a multiple of 2, as rotate turns pairs"));
    }
    if has(v::NORM) && get(v::KIND) == SOFTMAX {
        descriptor.check_size(v::LENGTH, columns)?;
    }
    let pairs = has(v::NORM) && get(v::KIND) == LAYER_NORM;
    let operands = [
        (true, v::X_ADDRESS, Some(v::X_STRIDE), 16),
        (has(v::ADD), v::ADDEND_ADDRESS, Some(v::ADDEND_STRIDE), 16),
        (has(v::MULTIPLY) || has(v::ROTATE), v::FACTOR_ADDRESS, Some(v::FACTOR_STRIDE), 16),
        (has(v::GAIN), v::GAIN_ADDRESS, None, if pairs { 32 } else { 16 }),
        (true, v::OUT_ADDRESS, Some(v::OUT_STRIDE), width),
    ];
    let used = operands.into_iter().filter(|(used, ..)| *used).map(|(_, address, stride, width)| {
        let is_written = address == v::OUT_ADDRESS;
        Extent {
            address,
            stride,
            rows: get(v::ROWS),
            row_bytes: (columns * width).div_ceil(8),
            is_written,
            is_early: false,
        }
    });
    let used: Vec<Extent> = used.collect();
    descriptor.check_operands(window, &used)?;
    Ok(used)
}

/// Checks that the device has the steps. Returns the bits of a result.
fn check_built_in(descriptor: &Descriptor, caps: &Caps) -> Result<u64, Refusal> {
    let get = |field: Field| descriptor.get(field);
    let refused = |field: Field, expected| Err(descriptor.refusal(ErrorCode::Field, field, expected));
    let width = match get(v::FORMAT) {
        0 => 16,
        1 => 8,
        2 => 4,
        _ => return refused(v::FORMAT, "0, 1 or 2"),
    };
    let norms = |kind| get(v::NORM) == 1 && get(v::KIND) == kind;
    for (is_wrong, field, expected) in [
        (get(v::KIND) > LAYER_NORM, v::KIND, "0, 1 or 2"),
        (norms(SOFTMAX) && !caps.units.softmax, v::KIND, "no softmax (1), which the device lacks"),
        (norms(LAYER_NORM) && !caps.units.layer_norm, v::KIND, "no layer norm (2), which the device lacks"),
        (get(v::ROTATE) == 1 && !caps.units.rotary, v::ROTATE, "0, as the device does not rotate"),
    ] {
        if is_wrong {
            return refused(field, expected);
        }
    }
    Ok(width)
}
