//! How a `kllm_top` was built, and what it counts.

use super::{layout, registers};
use crate::vector;
use crate::{Bus, Device, DeviceError};

/// How it was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Lanes.
    pub lanes: u32,
    /// Channels of a lane.
    pub columns: u32,
    /// Groups of lanes: as many panels in memory, one of each, are one of all lanes.
    pub groups: u32,
    /// Positions of a beat.
    pub inputs: u32,
    /// Bits of a centroid.
    pub centroid_bits: u32,
    /// Words of a bank of weights: with no more beats than this, a token's weights are fetched once for several tokens.
    pub buffer: u32,
    /// Positions of the longest token.
    pub inner: u32,
    /// Values among which outliers are found at once: longer rows are cut, and each part has its share of them. 0: the device
    /// makes no tokens.
    pub segment: u32,
    /// Outliers of a token on each side, at most.
    pub outliers: u32,
    /// Its vector unit: what [`VectorJob::build`](vector::VectorJob::build) takes, with opcode
    /// [`VECTOR_VALUE`](super::layout::VECTOR_VALUE).
    pub vector: vector::Caps,
}

impl Caps {
    /// Identifies a device, and reads them.
    ///
    /// # Errors
    /// Something else is there; those of the bus.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        device.identify_as(registers::VERSION_ACCELERATOR_VALUE)?;
        let field = |word: u32, mask: u32| (word & mask) >> mask.trailing_zeros();
        let (lanes, centroid) = (device.read(registers::CAPS)?, device.read(registers::CENTROID)?);
        let orizuru = device.read(registers::ORIZURU)?;
        let (unit, function) = (device.read(registers::VECTOR_CAPS)?, device.read(registers::FUNCTION)?);
        let vector = vector::Caps {
            opcode: layout::VECTOR_VALUE,
            lanes: field(unit, registers::VECTOR_CAPS_LANES),
            max_beats: field(unit, registers::VECTOR_CAPS_MAX_BEATS),
            function: function & registers::FUNCTION_FUNCTION,
            units: vector::Units::of(function),
        };
        Ok(Self {
            lanes: field(lanes, registers::CAPS_PE_LANES),
            columns: field(lanes, registers::CAPS_COLUMNS),
            groups: field(centroid, registers::CENTROID_GROUPS),
            inputs: field(lanes, registers::CAPS_INPUTS),
            centroid_bits: field(centroid, registers::CENTROID_BITS),
            buffer: field(centroid, registers::CENTROID_BUFFER),
            inner: device.read(registers::KMAX)?,
            segment: field(orizuru, registers::ORIZURU_VALUES),
            outliers: field(orizuru, registers::ORIZURU_OUTLIERS),
            vector,
        })
    }

    /// Channels of a panel in memory: those of a group of lanes.
    #[must_use]
    pub fn panel_channels(&self) -> usize {
        self.channels() / self.groups.max(1) as usize
    }

    /// Channels of all lanes.
    fn channels(&self) -> usize {
        self.lanes as usize * self.columns as usize
    }

    /// Panels of so many channels: those of all groups, whether the last ones have channels or not.
    #[must_use]
    pub fn panels(&self, channels: usize) -> usize {
        channels.div_ceil(self.channels()) * self.groups as usize
    }

    /// Whether the device puts tokens into panels: a beat of a panel is whole lines of 64 bytes, and a beat of the bus 64 at most.
    #[must_use]
    pub fn appends(&self) -> bool {
        (self.panel_channels() * self.inputs as usize).is_multiple_of(128) && self.vector.lanes <= 32
    }
}

/// Beats of activations of the last job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beats {
    /// All that the lanes took.
    pub taken: u64,
    /// Those that were sent again, as a beat takes one outlier at a time.
    pub repeated: u64,
}

impl Beats {
    /// Reads them.
    ///
    /// # Errors
    /// Those of the bus.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        Ok(Self { taken: device.read64(registers::COMPUTE)?, repeated: device.read64(registers::REPEATS)? })
    }
}

/// Results of the last job that are infinite or no number, inliers that were so ahead of the quantizer, and beats of rows with
/// an overflow.
///
/// # Errors
/// Those of the bus.
pub fn overflows<B: Bus>(device: &mut Device<B>) -> Result<u64, DeviceError<B::Error>> {
    device.read64(registers::OVERFLOWS)
}
