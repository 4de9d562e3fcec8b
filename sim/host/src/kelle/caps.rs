//! How a `kelle_top` was built, and what it counts.

use super::{operations, registers};
use crate::device::field;
use crate::vector;
use crate::{Bus, Device, DeviceError};

/// Parameters of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Rows of the array.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
    /// Rows of a linear operation, at most.
    pub tokens: u32,
    /// Channels of a linear operation, at most.
    pub inner: u32,
    /// Heads that it keeps.
    pub heads: u32,
    /// Tokens that a head keeps, at most.
    pub slots: u32,
    /// Elements of a vector in the cache.
    pub width: u32,
    /// Query heads of a head, at most.
    pub group: u32,
    /// Scores that the softmax takes at once.
    pub score_lanes: u32,
    /// Bits of an importance.
    pub score_bits: u32,
    /// Bits of the importance that a query adds.
    pub amount_bits: u32,
    /// Bits of a refresh interval.
    pub interval_bits: u32,
    /// Rows of a bank of the cache.
    pub cache_rows: u32,
    /// Cached tokens can be written to memory, and come back.
    pub save: bool,
    /// Tokens of a head that may be recomputed instead of cached, at most.
    pub recompute: u32,
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
        use registers as r;
        device.identify_as(r::VERSION_ACCELERATOR_VALUE)?;
        let (array, linear, cache) = (device.read(r::CAPS)?, device.read(r::LINEAR)?, device.read(r::HEADS)?);
        let (attention, scores) = (device.read(r::VECTORS)?, device.read(r::SCORES)?);
        let vector = [device.read(r::VECTOR_CAPS)?, device.read(r::FUNCTION)?];
        Ok(Self {
            rows: field(array, r::CAPS_ROWS),
            columns: field(array, r::CAPS_COLUMNS),
            tokens: field(linear, r::LINEAR_TOKENS),
            inner: field(linear, r::LINEAR_INNER),
            heads: field(cache, r::HEADS_HEADS),
            slots: field(cache, r::HEADS_SLOTS),
            width: field(attention, r::VECTORS_WIDTH),
            group: field(attention, r::VECTORS_GROUP),
            score_lanes: field(attention, r::VECTORS_SCORE_LANES),
            score_bits: field(scores, r::SCORES_SCORE),
            amount_bits: field(scores, r::SCORES_AMOUNT),
            interval_bits: field(scores, r::SCORES_INTERVAL),
            save: scores & r::SCORES_SAVE != 0,
            recompute: field(scores, r::SCORES_RECOMPUTE),
            cache_rows: device.read(r::CACHE_ROWS)?,
            vector: vector::Caps::of(operations::vector::OPCODE, vector),
        })
    }

    /// Largest opcode.
    pub(super) fn opcodes(&self) -> u8 {
        if self.recompute > 0 { operations::recompute::OPCODE } else { operations::restore::OPCODE }
    }

    /// Columns of a panel of weights.
    #[must_use]
    pub fn panel(&self) -> usize {
        self.columns.max(32) as usize
    }
}

/// Counters of the last job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Results and scores that are infinite or NaN, and beats of rows with an overflow.
    pub overflows: u64,
    /// Activations that saturated or were NaN.
    pub saturations: u64,
    /// Tokens that were evicted.
    pub evictions: u64,
    /// Rows of the cache that were refreshed.
    pub refreshes: u64,
    /// Cycles in which an access to the cache waited for a refresh.
    pub refresh_stalls: u64,
}

impl Counts {
    /// Reads the counters.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        Ok(Self {
            overflows: device.read64(registers::OVERFLOWS)?,
            saturations: device.read64(registers::SATURATIONS)?,
            evictions: device.read64(registers::EVICTIONS)?,
            refreshes: device.read64(registers::REFRESHES)?,
            refresh_stalls: device.read64(registers::REFRESH_STALLS)?,
        })
    }
}
