//! How a `kllm_top` was built, and what it counts.

use super::{operations, registers};
use crate::device::field;
use crate::vector;
use crate::{Bus, Device, DeviceError};

/// Parameters of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Lanes.
    pub lanes: u32,
    /// Channels of a lane.
    pub columns: u32,
    /// Groups of lanes. One panel in memory for each group makes a panel for all lanes.
    pub groups: u32,
    /// Positions of a beat.
    pub inputs: u32,
    /// Bits of a centroid.
    pub centroid_bits: u32,
    /// Words of a bank of weights. If tokens have no more beats than this, weights are fetched once for several tokens.
    pub buffer: u32,
    /// Positions of the longest token.
    pub inner: u32,
    /// Values among which outliers are found at once. Longer rows are cut, and each part has its share of outliers. 0:
    /// the device makes no tokens.
    pub segment: u32,
    /// Outliers of a token on each side, at most.
    pub outliers: u32,
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
        let (lanes, centroid) = (device.read(registers::CAPS)?, device.read(registers::CENTROID)?);
        let orizuru = device.read(registers::ORIZURU)?;
        let vector = [device.read(registers::VECTOR_CAPS)?, device.read(registers::FUNCTION)?];
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
            vector: vector::Caps::of(operations::vector::OPCODE, vector),
        })
    }

    /// Channels of a panel in memory, which is for one group of lanes.
    #[must_use]
    pub fn panel_channels(&self) -> usize {
        self.channels() / self.groups.max(1) as usize
    }

    /// Channels of all lanes.
    fn channels(&self) -> usize {
        self.lanes as usize * self.columns as usize
    }

    /// Panels of so many channels. Each group has a panel, even if no channel is left for it.
    #[must_use]
    pub fn panels(&self, channels: usize) -> usize {
        channels.div_ceil(self.channels()) * self.groups as usize
    }

    /// Whether the device puts tokens into panels. Then a beat of a panel is whole lines of 64 bytes, and a beat of the
    /// bus has at most 64 bytes.
    #[must_use]
    pub fn appends(&self) -> bool {
        (self.panel_channels() * self.inputs as usize).is_multiple_of(128) && self.vector.lanes <= 32
    }
}

/// Beats of activations of the last job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beats {
    /// Beats that the lanes took.
    pub taken: u64,
    /// Beats that were sent again, because a beat takes one outlier at a time.
    pub repeated: u64,
}

impl Beats {
    /// Reads the counters.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        Ok(Self { taken: device.read64(registers::COMPUTE)?, repeated: device.read64(registers::REPEATS)? })
    }
}

/// Overflows of the last job: results that are infinite or NaN, inliers that were so in front of the quantizer, and
/// beats of rows with an overflow.
///
/// # Errors
/// The bus fails.
pub fn overflows<B: Bus>(device: &mut Device<B>) -> Result<u64, DeviceError<B::Error>> {
    device.read64(registers::OVERFLOWS)
}
