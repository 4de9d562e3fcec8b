//! Jobs of `reduce_top`: rows of fp16 numbers to records.

use ::host::vector::Operand;
use ::host::{Descriptor, Extent, Refusal, Window};

use super::registers::operations::reduce as r;

/// What a row comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The sum of its finite elements in units of 2^-24, modulo 2^64.
    pub sum: i64,
    /// Place of the first of its largest elements.
    pub index: u32,
    /// Its smallest element that is a number, fp16; 0x7e00 where none is.
    pub minimum: u16,
    /// Its largest one, likewise.
    pub maximum: u16,
}

impl Record {
    /// Bytes of a record in memory.
    pub const BYTES: u64 = 16;

    /// A record from memory.
    #[must_use]
    pub fn from_bytes(b: [u8; 16]) -> Self {
        let bits = u128::from_le_bytes(b);
        Self {
            sum: bits as i64,
            index: (bits >> 64) as u32,
            minimum: (bits >> 96) as u16,
            maximum: (bits >> 112) as u16,
        }
    }
}

/// The descriptor of an operation on `rows` rows of `columns` elements, of a device whose longest row has `max_columns`.
///
/// # Errors
/// The hardware would refuse it: which field is wrong, and what would be right.
pub fn job(
    [rows, columns]: [u32; 2],
    (x, out, exact): (Operand, Operand, bool),
    max_columns: u32,
    window: &Window,
) -> Result<Descriptor, Refusal> {
    let mut d = Descriptor::new(r::OPCODE);
    for (field, value) in [
        (r::ROWS, rows.into()),
        (r::COLUMNS, columns.into()),
        (r::EXACT, exact.into()),
        (r::X_STRIDE, x.stride.into()),
        (r::OUT_STRIDE, out.stride.into()),
        (r::X_ADDRESS, x.address),
        (r::OUT_ADDRESS, out.address),
    ] {
        d.set(field, value);
    }
    d.check_size(r::ROWS, 65535)?;
    d.check_size(r::COLUMNS, max_columns.into())?;
    let (rows, row_bytes) = (rows.into(), 2 * u64::from(columns));
    let x = Extent::rows(r::X_ADDRESS, r::X_STRIDE, rows, row_bytes);
    let out = Extent::rows(r::OUT_ADDRESS, r::OUT_STRIDE, rows, Record::BYTES).written();
    d.with_operands(window, &[x, out])
}
