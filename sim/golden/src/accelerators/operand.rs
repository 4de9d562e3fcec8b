//! Rows in memory that an operation reads or writes: where they may be, and whether they overlap.

use crate::common::bus::Command;
use crate::common::shell::job_controller::{Limits, code};
pub use crate::common::shell::operand_check::check;
use crate::common::shell::operand_check::reach;

/// Checks the sizes on which later checks depend: pairs of a size and the largest right one.
///
/// # Errors
/// The code of a size that is 0 or too large.
pub fn sizes(sizes: &[(u32, u32)]) -> Result<(), u8> {
    demand(sizes.iter().all(|&(size, most)| (1..=most).contains(&size)), code::SIZE)
}

/// A rule of a descriptor.
///
/// # Errors
/// The code of the rule, where it is broken.
pub fn demand(holds: bool, code: u8) -> Result<(), u8> {
    if holds { Ok(()) } else { Err(code) }
}

/// Checks where operands are, one after the other.
///
/// # Errors
/// The code of the first operand that is not right.
pub fn places<'a>(
    operands: impl IntoIterator<Item = &'a Command>,
    limits: &Limits,
    address_width: u32,
) -> Result<(), u8> {
    operands.into_iter().try_for_each(|rows| check(rows, limits, address_width))
}

/// A single row.
#[must_use]
pub fn row(address: u64, row_bytes: u64) -> Command {
    Command { address, row_bytes, rows: 1, stride: 0 }
}

/// Whether no byte is in two of the rows.
#[must_use]
pub fn are_apart(rows: &Command) -> bool {
    rows.rows == 1 || rows.stride >= rows.row_bytes
}

/// Whether a byte is in rows of both.
#[must_use]
pub fn overlap(a: &Command, b: &Command) -> bool {
    let ((a_first, a_last), (b_first, b_last)) = (reach(a), reach(b));
    if a_first > b_last || b_first > a_last {
        return false;
    }
    let bytes = u128::from(b.row_bytes);
    a.row_addresses().map(u128::from).any(|first| {
        let last = first + u128::from(a.row_bytes) - 1;
        // The first row of b that ends at or after the beginning of this row. Later rows of b begin later.
        let missing = (first + 1).saturating_sub(b_first + bytes);
        let row = if b.stride == 0 { 0 } else { missing.div_ceil(b.stride.into()) };
        let begin = b_first + row * u128::from(b.stride);
        row < b.rows.into() && begin <= last && begin + bytes > first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_by_brute_force() {
        let mut found = [0; 2];
        for (address, stride, row_bytes, rows) in (0..6u64)
            .flat_map(|a| (0..4u64).flat_map(move |s| (1..5).flat_map(move |n| (1..4).map(move |r| (a, s, n, r)))))
        {
            let a = Command { address: 64 * address, row_bytes: 40 * row_bytes, rows, stride: 64 * stride };
            for b in [(128, 100, 2, 192), (64, 1, 3, 64), (0, 130, 3, 0), (192, 64, 2, 128)] {
                let b = Command { address: b.0, row_bytes: b.1, rows: b.2, stride: b.3 };
                let bytes =
                    |c: &Command| -> Vec<u64> { c.row_addresses().flat_map(|at| at..at + c.row_bytes).collect() };
                let of_b = bytes(&b);
                let expected = bytes(&a).iter().any(|at| of_b.contains(at));
                assert_eq!(overlap(&a, &b), expected, "{a:?} {b:?}");
                assert_eq!(overlap(&b, &a), expected, "{b:?} {a:?}");
                found[usize::from(expected)] += 1;
            }
        }
        assert!(found[0] > 100 && found[1] > 100, "{found:?}");
    }
}
