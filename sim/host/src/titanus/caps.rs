//! How a `titanus_core` was built, what it counts, and what it found damaged.

use super::{operations, registers as r};
use crate::device::field;
use crate::vector;
use crate::{Bus, Device, DeviceError};

/// Bytes of a line of an area.
pub(super) const LINE_BYTES: u64 = 64;

/// Parameters of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Rows of macros; 0: the core has no store of weights.
    pub rows: u32,
    /// Columns of macros.
    pub columns: u32,
    /// Inputs of a macro.
    pub inputs: u32,
    /// Outputs of a macro.
    pub outputs: u32,
    /// Constants of results.
    pub constants: u32,
    /// Channels of a tile; 0: no cache.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Tokens of the context; 0: none.
    pub context: u32,
    /// Tokens of the longest prefill.
    pub buffer: u32,
    /// The core has links to the core before and to the next core.
    pub links: bool,
    /// Its vector unit: what [`VectorJob::build`](vector::VectorJob::build) takes, with opcode
    /// [`vector::OPCODE`](operations::vector::OPCODE).
    pub vector: vector::Caps,
}

impl Caps {
    /// Identifies a device, and reads its capabilities.
    ///
    /// # Errors
    /// The bus fails, or another device is there.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        device.identify_as(r::VERSION_ACCELERATOR_VALUE)?;
        let (store, cells) = (device.read(r::CAPS_STORE)?, device.read(r::CAPS_MACRO)?);
        let (cache, context) = (device.read(r::CAPS_CACHE)?, device.read(r::CAPS_CONTEXT)?);
        let vector = [device.read(r::VECTOR_CAPS)?, device.read(r::FUNCTION)?];
        Ok(Self {
            rows: field(store, r::CAPS_STORE_ROWS),
            columns: field(store, r::CAPS_STORE_COLUMNS),
            inputs: field(cells, r::CAPS_MACRO_INPUTS),
            outputs: field(cells, r::CAPS_MACRO_OUTPUTS),
            constants: device.read(r::CAPS_CONSTANTS)?,
            lanes: field(cache, r::CAPS_CACHE_CHANNELS),
            tiles: field(cache, r::CAPS_CACHE_TILES),
            levels: (field(cache, r::CAPS_CACHE_LEVELS) + 255) % 256 + 1,
            context: field(context, r::CAPS_CONTEXT_TOKENS),
            buffer: field(context, r::CAPS_CONTEXT_BUFFER),
            links: device.read(r::LINK)? & r::LINK_LINKED != 0,
            vector: vector::Caps::of(operations::vector::OPCODE, vector),
        })
    }

    /// Channels of a token in a stream.
    #[must_use]
    pub fn channels(&self) -> u32 {
        self.lanes * self.tiles
    }

    /// Lines that hold the stream of so many tokens of any numbers, of keys or of values quantized to `bits` bits.
    #[must_use]
    pub fn most_lines(&self, tokens: u32, bits: u32) -> u64 {
        let (lanes, tiles, tokens) = (u64::from(self.lanes), u64::from(self.tiles), u64::from(tokens));
        // Each token has kind, index, labels and values. A tile may have kind and mask of initial levels. Each token
        // that opens a level adds a mask, and each level of a channel a record.
        let token = 2 + lanes * (2 + u64::from(bits));
        let levels = u64::from(self.levels).min(tokens + 1);
        let opening = tokens.min(lanes * levels);
        let tile = tokens * token + (2 + lanes) + opening * lanes + 18 * lanes * levels;
        (16 + tiles * tile).div_ceil(8 * LINE_BYTES)
    }
}

/// Counters of the last job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Multiplications with keys and values, including skipped ones.
    pub multiplications: u64,
    /// Multiplications that were skipped because an operand is zero.
    pub skipped: u64,
    /// Blocks of streams that the job read.
    pub blocks_read: u64,
    /// Blocks of streams that the job wrote.
    pub blocks_written: u64,
    /// Results that are saturated, infinite or NaN, and beats of rows with such a result.
    pub overflows: u64,
}

impl Counts {
    /// Reads the counters.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        Ok(Self {
            multiplications: device.read64(r::MULTIPLICATIONS)?,
            skipped: device.read64(r::SKIPPED)?,
            blocks_read: device.read64(r::STREAM_READ)?,
            blocks_written: device.read64(r::STREAM_WRITTEN)?,
            overflows: device.read64(r::OVERFLOWS)?,
        })
    }
}

/// Whether elements of the cache were out of tolerance while their channels had no level left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Keys.
    pub keys: bool,
    /// Values.
    pub values: bool,
}

impl Overflow {
    /// Reads the flags. No job may run.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        let cache = device.read(r::CACHE)?;
        Ok(Self { keys: cache & r::CACHE_BEYOND_K != 0, values: cache & r::CACHE_BEYOND_V != 0 })
    }
}

/// Which stream ended the last job with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The area has no room for the stream; otherwise the stream is damaged.
    pub no_room: bool,
    /// The stream has values, otherwise keys.
    pub values: bool,
    /// Address of its area.
    pub area: u64,
}

impl Damage {
    /// Reads the registers; `None` if no stream ended the last job.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Option<Self>, DeviceError<B::Error>> {
        let damage = device.read(r::DAMAGE)?;
        let kind = damage & r::DAMAGE_KIND;
        if kind == 0 {
            return Ok(None);
        }
        let area = device.read64(r::DAMAGE_WHERE)?;
        Ok(Some(Self { no_room: kind == 3, values: damage & r::DAMAGE_OF_VALUES != 0, area }))
    }
}
