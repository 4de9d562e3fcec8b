//! Jobs of `{{ name }}`: what a driver writes into memory. It needs no hardware description.

use senbazuru_host::vector::Operand;
use senbazuru_host::{Descriptor, Extent, Refusal, Window};

use crate::registers::operations::add;

/// Adds a number to each element of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Rows, from 1 to 65535.
    pub rows: u32,
    /// Elements of a row.
    pub columns: u32,
    /// The rows, signed integers of 16 bits.
    pub x: Operand,
    /// Where the results go.
    pub out: Operand,
    /// The number.
    pub addend: i16,
    /// A sum that leaves the range of 16 bits is an error.
    pub exact: bool,
}

impl Job {
    /// Its descriptor, for a device whose longest row has `max_columns` elements.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn descriptor(&self, max_columns: u32, window: &Window) -> Result<Descriptor, Refusal> {
        let Self { rows, columns, x, out, addend, exact } = *self;
        let mut d = Descriptor::new(add::OPCODE);
        for (field, value) in [
            (add::ROWS, rows.into()),
            (add::COLUMNS, columns.into()),
            (add::ADDEND, u64::from(addend as u16)),
            (add::EXACT, exact.into()),
            (add::X_STRIDE, x.stride.into()),
            (add::OUT_STRIDE, out.stride.into()),
            (add::X_ADDRESS, x.address),
            (add::OUT_ADDRESS, out.address),
        ] {
            d.set(field, value);
        }
        d.check_size(add::ROWS, 65535)?;
        d.check_size(add::COLUMNS, max_columns.into())?;
        let (rows, row_bytes) = (rows.into(), 2 * u64::from(columns));
        let x = Extent::rows(add::X_ADDRESS, add::X_STRIDE, rows, row_bytes);
        let out = Extent::rows(add::OUT_ADDRESS, add::OUT_STRIDE, rows, row_bytes).written();
        d.with_operands(window, &[x, out])
    }
}
