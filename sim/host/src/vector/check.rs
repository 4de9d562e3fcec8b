//! The checks of the hardware, in their order.

use super::{Caps, layout as l};
use crate::descriptor::Extent;
use crate::layout::Field;
use crate::{Descriptor, ErrorCode, Refusal, Window};

/// The steps of a descriptor.
#[derive(Clone, Copy)]
struct Steps(u64);

impl Steps {
    fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    fn kind(self) -> u32 {
        (self.0 >> l::KIND_BIT & 3) as u32
    }

    /// Whether there is a norm of a kind.
    fn norms(self, kind: u32) -> bool {
        self.has(l::NORM_BIT) && self.kind() == kind
    }
}

/// Checks the fields after the header as the hardware does.
///
/// # Errors
/// The first check that fails.
pub fn check(descriptor: &Descriptor, caps: &Caps, window: &Window) -> Result<(), Refusal> {
    let get = |field: Field| descriptor.get(field);
    let steps = Steps(get(l::STEPS));
    check_reserved(descriptor, steps)?;
    let width = check_built_in(descriptor, steps, caps)?;
    descriptor.check_size(l::ROWS, 65535)?;
    descriptor.check_size(l::COLUMNS, caps.max_columns())?;
    let columns = get(l::COLUMNS);
    if steps.has(l::ROTATE_BIT) && !columns.is_multiple_of(2) {
        let expected = "a multiple of 2, as ROTATE turns pairs";
        return Err(Refusal::new(ErrorCode::Size, l::COLUMNS.name, columns.to_string(), expected));
    }
    if steps.norms(l::SOFTMAX) {
        descriptor.check_size(l::LENGTH, columns)?;
    }
    let factors = steps.has(l::MULTIPLY_BIT) || steps.has(l::ROTATE_BIT);
    let operands = [
        (true, l::X_ADDRESS, Some(l::X_STRIDE), 16),
        (steps.has(l::ADD_BIT), l::ADDEND_ADDRESS, Some(l::ADDEND_STRIDE), 16),
        (factors, l::FACTOR_ADDRESS, Some(l::FACTOR_STRIDE), 16),
        (steps.has(l::GAIN_BIT), l::GAIN_ADDRESS, None, if steps.norms(l::LAYER_NORM) { 32 } else { 16 }),
        (true, l::OUT_ADDRESS, Some(l::OUT_STRIDE), width),
    ];
    for (_, address, stride, width) in operands.into_iter().filter(|(used, ..)| *used) {
        let row_bytes = (columns * width).div_ceil(8);
        descriptor.check_operand(window, &Extent { address, stride, rows: get(l::ROWS), row_bytes })?;
    }
    Ok(())
}

fn wrong(code: ErrorCode, descriptor: &Descriptor, field: Field, expected: &str) -> Refusal {
    Refusal::new(code, field.name, format!("{:#x}", descriptor.get(field)), expected)
}

/// Checks fields that must be 0 always, or because their step is not asked for.
fn check_reserved(descriptor: &Descriptor, steps: Steps) -> Result<(), Refusal> {
    let (has, softmax) = (|bit| steps.has(bit), steps.norms(l::SOFTMAX));
    let fields = 3 << l::FORMAT_BIT | 3 << l::KIND_BIT;
    let known = l::STEP_BITS.iter().fold(fields, |bits, (_, bit, _)| bits | 1 << bit);
    let of_known = format!("made of the bits of {known:#x}");
    for (is_wrong, field, expected) in [
        (steps.0 & !known != 0, l::STEPS, &*of_known),
        (has(l::GAIN_BIT) && !has(l::NORM_BIT), l::STEPS, "without GAIN, or with NORM"),
        (steps.kind() != 0 && !has(l::NORM_BIT), l::STEPS, "with 0 in its bits 6 and 7, or with NORM"),
        (has(l::GAIN_BIT) && softmax, l::STEPS, "without GAIN, as a softmax has none"),
        (has(l::ROTATE_BIT) && softmax, l::STEPS, "without ROTATE, as a softmax does not rotate its input"),
        (has(l::CAUSAL_BIT) && !softmax, l::STEPS, "without CAUSAL, or with a softmax"),
        (has(l::ROTATE_BIT) && has(l::MULTIPLY_BIT), l::STEPS, "without MULTIPLY or without ROTATE"),
        (descriptor.get(l::LENGTH) != 0 && !softmax, l::LENGTH, "0x0, or with a softmax"),
        (descriptor.get(l::EPSILON) >> 40 != 0, l::EPSILON, "below 2^40"),
    ] {
        if is_wrong {
            return Err(wrong(ErrorCode::Reserved, descriptor, field, expected));
        }
    }
    descriptor.check_zeros(&[l::ZERO_0, l::ZERO_1])
}

/// Checks that the device has the steps. Returns the bits of a result.
fn check_built_in(descriptor: &Descriptor, steps: Steps, caps: &Caps) -> Result<u64, Refusal> {
    let refused = |expected| Err(wrong(ErrorCode::Field, descriptor, l::STEPS, expected));
    let width = match steps.0 >> l::FORMAT_BIT & 3 {
        0 => 16,
        1 => 8,
        2 => 4,
        _ => return refused("with a format of 0, 1 or 2 in its bits 8 and 9"),
    };
    for (is_wrong, expected) in [
        (steps.kind() > l::LAYER_NORM, "with a norm of 0, 1 or 2 in its bits 6 and 7"),
        (steps.norms(l::SOFTMAX) && !caps.units.softmax, "without a softmax, which the device lacks"),
        (steps.norms(l::LAYER_NORM) && !caps.units.layer_norm, "without a layer norm, which the device lacks"),
        (steps.has(l::ROTATE_BIT) && !caps.units.rotary, "without ROTATE, which the device lacks"),
    ] {
        if is_wrong {
            return refused(expected);
        }
    }
    Ok(width)
}
