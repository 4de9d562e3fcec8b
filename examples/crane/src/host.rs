//! Jobs of the crane: what a driver writes into memory. It needs no hardware description. Rows are jobs of
//! [`senbazuru_host::vector`].

use senbazuru_host::vector::Operand;
use senbazuru_host::{Descriptor, ErrorCode, Extent, Refusal, Window};

use crate::registers::operations::product as p;

/// How a crane was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Rows that multiply at the same time.
    pub rows: u32,
    /// Channels that share an exponent.
    pub group: u32,
    /// Channels of the longest row.
    pub channels: u32,
    /// Weights of a word: a beat of the bus.
    pub word: u32,
}

impl Caps {
    /// Bytes of the exponents of a column.
    #[must_use]
    pub fn exponent_bytes(&self, channels: u32) -> u64 {
        u64::from(channels.div_ceil(self.word) * (self.word / self.group) / 2)
    }
}

/// A product of fp16 rows and packed columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductJob {
    /// Rows.
    pub rows: u32,
    /// Columns of the right matrix.
    pub columns: u32,
    /// Channels.
    pub channels: u32,
    /// The rows, fp16.
    pub x: Operand,
    /// The columns, a row of INT4 each.
    pub weights: Operand,
    /// Exponents of all columns, one after the other.
    pub exponents: u64,
    /// Where rows of fp16 go.
    pub out: Operand,
    /// Sums are divided by 2^shift.
    pub shift: u32,
    /// A result that is infinite or no number is an error.
    pub exact: bool,
}

impl ProductJob {
    /// Its descriptor.
    ///
    /// # Errors
    /// The hardware would refuse it: which field is wrong, and what would be right.
    pub fn descriptor(&self, caps: &Caps, window: &Window) -> Result<Descriptor, Refusal> {
        let Self { rows, columns, channels, x, weights, exponents, out, shift, exact } = *self;
        let mut d = Descriptor::new(p::OPCODE);
        for (field, value) in [
            (p::ROWS, u64::from(rows)),
            (p::COLUMNS, columns.into()),
            (p::CHANNELS, channels.into()),
            (p::EXACT, exact.into()),
            (p::X_STRIDE, x.stride.into()),
            (p::WEIGHT_STRIDE, weights.stride.into()),
            (p::OUT_STRIDE, out.stride.into()),
            (p::X_ADDRESS, x.address),
            (p::WEIGHT_ADDRESS, weights.address),
            (p::EXPONENT_ADDRESS, exponents),
            (p::OUT_ADDRESS, out.address),
        ] {
            d.set(field, value);
        }
        if shift > 96 {
            return Err(Refusal::new(ErrorCode::Field, p::SHIFT.name, shift.to_string(), "0 to 96"));
        }
        d.set(p::SHIFT, shift.into());
        d.check_size(p::ROWS, caps.rows.into())?;
        d.check_size(p::COLUMNS, 65535)?;
        d.check_size(p::CHANNELS, caps.channels.into())?;
        let of = |address, stride, rows: u32, row_bytes| Extent::rows(address, stride, rows.into(), row_bytes);
        let operands = [
            of(p::X_ADDRESS, p::X_STRIDE, rows, 2 * u64::from(channels)),
            of(p::WEIGHT_ADDRESS, p::WEIGHT_STRIDE, columns, u64::from(channels.div_ceil(2))).early(),
            Extent::row(p::EXPONENT_ADDRESS, u64::from(columns) * caps.exponent_bytes(channels)).early(),
            of(p::OUT_ADDRESS, p::OUT_STRIDE, rows, 2 * u64::from(columns)).written(),
        ];
        d.with_operands(window, &operands)
    }
}
