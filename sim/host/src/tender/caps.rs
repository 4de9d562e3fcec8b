//! How a `tender_top` was built.

use super::{operations, registers};
use crate::device::field;
use crate::vector;
use crate::vector::Integer;
use crate::{Bus, Device, DeviceError};

/// Parameters of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Rows of PEs.
    pub rows: u32,
    /// Columns of PEs.
    pub columns: u32,
    /// The array multiplies bytes too.
    pub int8: bool,
    /// There is explicit requantization.
    pub explicit: bool,
    /// Channels of a panel, at most.
    pub depth: u32,
    /// Entries of a table, at most.
    pub steps: u32,
    /// Its vector unit: what [`VectorJob::build`](vector::VectorJob::build) takes, with opcode
    /// [`vector::OPCODE`](super::operations::vector::OPCODE).
    pub vector: vector::Caps,
}

impl Caps {
    /// Identifies a device, and reads its capabilities.
    ///
    /// # Errors
    /// The bus fails, or another device is there.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        device.identify_as(registers::VERSION_ACCELERATOR_VALUE)?;
        let array = device.read(registers::CAPS)?;
        let vector = [device.read(registers::VECTOR_CAPS)?, device.read(registers::FUNCTION)?];
        Ok(Self {
            rows: field(array, registers::CAPS_ROWS),
            columns: field(array, registers::CAPS_COLUMNS),
            int8: array & registers::CAPS_INT8 != 0,
            explicit: array & registers::CAPS_EXPLICIT != 0,
            depth: device.read(registers::DEPTH)?,
            steps: device.read(registers::STEPS)?,
            vector: vector::Caps::of(operations::vector::OPCODE, vector),
        })
    }

    /// Lines of a panel of rows: of the left matrix of a product, and of results.
    #[must_use]
    pub fn panel_rows(&self, integer: Integer) -> usize {
        self.rows as usize / share(integer)
    }

    /// Lines of a panel of columns: of the right matrix of a product.
    #[must_use]
    pub fn panel_columns(&self, integer: Integer) -> usize {
        self.columns as usize / share(integer)
    }
}

/// Counts of numbers that did not fit in the last job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflows {
    /// Columns of a panel of results in which a sum overflowed its accumulator.
    pub sums: u64,
    /// Columns of a panel, or beats of a row, with a result that is saturated, infinite or NaN.
    pub results: u64,
}

impl Overflows {
    /// Reads the counters.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        Ok(Self { sums: device.read64(registers::SUM_OVERFLOWS)?, results: device.read64(registers::OVERFLOWS)? })
    }
}

/// PEs in each direction that work as one.
fn share(integer: Integer) -> usize {
    match integer {
        Integer::Int8 => 2,
        Integer::Int4 => 1,
    }
}
