//! A descriptor of `vector_top` behind its header: fields, and the checks in their order.

use crate::common::bus::Command;
use crate::common::row::vector_unit::{Output, Scalars, Steps};
use crate::common::shell::job_controller::{Limits, code};

use super::Shape;

/// Bits of the steps that are steps.
pub const STEP_BITS: u32 = 0x3f;
/// Bits of the steps that mean anything: steps, format, exact.
const KNOWN: u32 = STEP_BITS | 3 << 8 | 1 << 12;
/// Bytes of the header, which are not among the words of an operation.
const HEADER: usize = 32;

/// An operation whose fields are all right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Elements of a row.
    pub columns: u64,
    /// What is done.
    pub steps: Steps,
    /// An overflow is an error.
    pub exact: bool,
    /// Numbers that all rows share.
    pub scalars: Scalars,
    /// The numbers.
    pub x: Command,
    /// What is added, if anything.
    pub addends: Option<Command>,
    /// What the numbers are multiplied by, if anything.
    pub factors: Option<Command>,
    /// The gains of all rows, if there are any.
    pub gains: Option<Command>,
    /// Where the results go.
    pub out: Command,
}

/// Bytes of a row of `columns` elements of `width` bits.
fn row_bytes(columns: u64, width: u32) -> u64 {
    (columns * u64::from(width)).div_ceil(8)
}

/// First and last byte of all rows.
fn reach(rows: &Command) -> (u128, u128) {
    let first = u128::from(rows.address);
    let last = first + u128::from(rows.rows - 1) * u128::from(rows.stride) + u128::from(rows.row_bytes) - 1;
    (first, last)
}

impl Operation {
    /// The operation in the 24 words behind a header.
    ///
    /// # Errors
    /// The code of the first check that fails.
    ///
    /// # Panics
    /// There are fewer words.
    pub fn check(shape: &Shape, limits: &Limits, words: &[u32]) -> Result<Self, u8> {
        let word = |at: usize| words[(at - HEADER) / 4];
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let (bits, epsilon) = (word(40), long(48));
        let zeros = (112..128).step_by(4).all(|at| word(at) == 0);
        let gain_alone = bits >> 5 & 1 == 1 && bits >> 4 & 1 == 0;
        if bits & !KNOWN != 0 || gain_alone || epsilon >> 40 != 0 || !zeros {
            return Err(code::RESERVED);
        }
        let Some(steps) = Steps::of(bits) else { return Err(code::FIELD) };
        if bits & STEP_BITS & !shape.steps != 0 {
            return Err(code::FIELD);
        }
        let (rows, columns) = (u64::from(word(32)), u64::from(word(36)));
        let most = u64::from(shape.lanes) * u64::from(shape.max_beats);
        if !(1..=65535).contains(&rows) || !(1..=most).contains(&columns) {
            return Err(code::SIZE);
        }
        let operand = |address: usize, stride: usize, width: u32| Command {
            address: long(address),
            row_bytes: row_bytes(columns, width),
            rows,
            stride: word(stride).into(),
        };
        let gains = Command { address: long(96), row_bytes: row_bytes(columns, 16), rows: 1, stride: 0 };
        let operation = Self {
            columns,
            steps,
            exact: bits >> 12 & 1 == 1,
            scalars: Scalars { scale: word(44) as u16, quantizer: (word(44) >> 16) as u16, epsilon },
            x: operand(64, 56, 16),
            addends: steps.add.then(|| operand(72, 60, 16)),
            factors: steps.multiply.then(|| operand(80, 88, 16)),
            gains: steps.gain.then_some(gains),
            out: operand(104, 92, steps.output.width()),
        };
        for rows in operation.sources().chain([&operation.out]) {
            if !rows.address.is_multiple_of(64) || !rows.stride.is_multiple_of(64) {
                return Err(code::ALIGNMENT);
            }
            let (first, last) = reach(rows);
            if first < limits.base.into() || last > limits.limit.into() || last >> shape.address_width != 0 {
                return Err(code::WINDOW);
            }
        }
        Ok(operation)
    }

    /// What is read, in the order of the checks.
    pub fn sources(&self) -> impl Iterator<Item = &Command> {
        [Some(&self.x), self.addends.as_ref(), self.factors.as_ref(), self.gains.as_ref()].into_iter().flatten()
    }

    /// Whether it works in place, as the contract allows it: on the rows of x, row by row.
    fn in_place(&self) -> bool {
        let same = self.x.address == self.out.address && self.x.stride == self.out.stride;
        let apart = self.out.rows == 1 || self.out.stride >= self.out.row_bytes;
        same && apart && self.steps.output == Output::Fp16
    }

    /// Whether what is read does not depend on when results are written.
    #[must_use]
    pub fn is_defined(&self) -> bool {
        let others = self.sources().skip(usize::from(self.in_place()));
        !others.into_iter().any(|source| overlap(source, &self.out))
    }
}

/// Whether a byte is in rows of both.
fn overlap(a: &Command, b: &Command) -> bool {
    let ((a_first, a_last), (b_first, b_last)) = (reach(a), reach(b));
    if a_first > b_last || b_first > a_last {
        return false;
    }
    let bytes = u128::from(b.row_bytes);
    a.row_addresses().map(u128::from).any(|first| {
        let last = first + u128::from(a.row_bytes) - 1;
        // The first row of b that ends at or behind the beginning of this one; those behind it begin later.
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
