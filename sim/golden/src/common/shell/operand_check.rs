//! Where the rows of an operand may lie.

use super::job_controller::{Limits, code};
use crate::common::bus::Command;

/// First and last byte of all rows.
#[must_use]
pub fn reach(rows: &Command) -> (u128, u128) {
    let first = u128::from(rows.address);
    let last = first + u128::from(rows.rows - 1) * u128::from(rows.stride) + u128::from(rows.row_bytes) - 1;
    (first, last)
}

/// Checks that address and stride are multiples of 64, and then that all bytes lie in the window and on the bus.
///
/// # Errors
/// The code of the first error, [`code::ALIGNMENT`] or [`code::WINDOW`].
pub fn check(rows: &Command, limits: &Limits, address_width: u32) -> Result<(), u8> {
    if !rows.address.is_multiple_of(64) || !rows.stride.is_multiple_of(64) {
        return Err(code::ALIGNMENT);
    }
    let (first, last) = reach(rows);
    if first < limits.base.into() || last > limits.limit.into() || last >> address_width != 0 {
        return Err(code::WINDOW);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_the_byte() {
        let rows = Command { address: 0x1000, row_bytes: 3, rows: 3, stride: 128 };
        assert_eq!(reach(&rows), (0x1000, 0x1102));
        let window = |base, limit| Limits { base, limit, max_descriptors: 1 };
        assert_eq!(check(&rows, &window(0x1000, 0x1102), 13), Ok(()));
        for (base, limit) in [(0x1001, 0x1102), (0x1000, 0x1101), (0, 0), (u64::MAX, u64::MAX)] {
            assert_eq!(check(&rows, &window(base, limit), 13), Err(code::WINDOW));
        }
        assert_eq!(check(&rows, &window(0, u64::MAX), 12), Err(code::WINDOW));
        assert_eq!(check(&Command { address: 0x1020, ..rows }, &window(0, 0), 12), Err(code::ALIGNMENT));
        assert_eq!(check(&Command { stride: 96, ..rows }, &window(0, u64::MAX), 64), Err(code::ALIGNMENT));
    }

    #[test]
    fn what_is_too_large_for_64_bits_is_outside() {
        let rows = Command { address: u64::MAX - 63, row_bytes: 65, rows: 1, stride: 0 };
        let all = Limits { base: 0, limit: u64::MAX, max_descriptors: 1 };
        assert_eq!(check(&rows, &all, 64), Err(code::WINDOW));
        assert_eq!(check(&Command { row_bytes: 64, ..rows }, &all, 64), Ok(()));
    }
}
