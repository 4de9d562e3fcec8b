//! How a `titanus_core` was built, what it counts, and what it found damaged.

use super::{layout, registers as r};
use crate::vector;
use crate::{Bus, Device, DeviceError};

/// How it was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Rows of macros; 0: no weights stay.
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
    /// It has links to the core before and to the one behind.
    pub links: bool,
    /// Its vector unit: what [`VectorJob::build`](vector::VectorJob::build) takes, with opcode
    /// [`VECTOR_VALUE`](layout::VECTOR_VALUE).
    pub vector: vector::Caps,
}

fn field(word: u32, mask: u32) -> u32 {
    (word & mask) >> mask.trailing_zeros()
}

impl Caps {
    /// Identifies a device, and reads them.
    ///
    /// # Errors
    /// Something else is there; those of the bus.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        device.identify_as(r::VERSION_ACCELERATOR_VALUE)?;
        let (store, cells) = (device.read(r::CAPS_STORE)?, device.read(r::CAPS_MACRO)?);
        let (cache, context) = (device.read(r::CAPS_CACHE)?, device.read(r::CAPS_CONTEXT)?);
        let (unit, function) = (device.read(r::CAPS)?, device.read(r::FUNCTION)?);
        let vector = vector::Caps {
            opcode: layout::VECTOR_VALUE,
            lanes: field(unit, r::CAPS_LANES),
            max_beats: field(unit, r::CAPS_MAX_BEATS),
            function: function & r::FUNCTION_FUNCTION,
            units: vector::Units::of(function),
        };
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
            vector,
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
        // Kind, index, labels and values of each token; initial levels, whose kind and mask a tile may have; a mask with each token that opens
        // a level, and a record for each of a channel's levels.
        let token = 2 + lanes * (2 + u64::from(bits));
        let levels = u64::from(self.levels).min(tokens + 1);
        let opening = tokens.min(lanes * levels);
        let tile = tokens * token + (2 + lanes) + opening * lanes + 18 * lanes * levels;
        (16 + tiles * tile).div_ceil(8 * layout::LINE_BYTES)
    }
}

/// What the last job counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Multiplications with keys and values, skipped ones among them.
    pub multiplications: u64,
    /// Those with a zero on either side.
    pub skipped: u64,
    /// Blocks of streams that were read.
    pub blocks_read: u64,
    /// Blocks that were written.
    pub blocks_written: u64,
    /// Results that are saturated, infinite or no number, and beats of rows with one.
    pub overflows: u64,
}

impl Counts {
    /// Reads them.
    ///
    /// # Errors
    /// Those of the bus.
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

/// Whether elements of the cache were out of tolerance, and their channels had no level left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Keys.
    pub keys: bool,
    /// Values.
    pub values: bool,
}

impl Overflow {
    /// Reads it, while no job runs.
    ///
    /// # Errors
    /// Those of the bus.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        let cache = device.read(r::CACHE)?;
        Ok(Self { keys: cache & r::CACHE_BEYOND_K != 0, values: cache & r::CACHE_BEYOND_V != 0 })
    }
}

/// Which stream ended the last job with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// There was no room for it; otherwise it is not what was written.
    pub no_room: bool,
    /// It is one of values, otherwise of keys.
    pub values: bool,
    /// Address of its area.
    pub area: u64,
}

impl Damage {
    /// Reads it: `None` where the last job had none.
    ///
    /// # Errors
    /// Those of the bus.
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
