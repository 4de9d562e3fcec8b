//! Registers of `titanus_core` behind those that all accelerators have.
//!
//! Offsets are bytes from the base; a register of 64 bits is two words, the low one first.

/// Macros of the store.
pub const CAPS_STORE: u32 = 0x100;
/// Rows of macros.
pub const CAPS_STORE_ROWS: u32 = 0x0000_00ff;
/// Columns of macros.
pub const CAPS_STORE_COLUMNS: u32 = 0x000f_ff00;
/// A macro.
pub const CAPS_MACRO: u32 = 0x104;
/// Inputs.
pub const CAPS_MACRO_INPUTS: u32 = 0x0000_ffff;
/// Outputs.
pub const CAPS_MACRO_OUTPUTS: u32 = 0xffff_0000;
/// How many constants there are.
pub const CAPS_CONSTANTS: u32 = 0x108;
/// Streams of keys and values.
pub const CAPS_CACHE: u32 = 0x10c;
/// Channels of a tile.
pub const CAPS_CACHE_CHANNELS: u32 = 0x0000_00ff;
/// Tiles of a token.
pub const CAPS_CACHE_TILES: u32 = 0x00ff_ff00;
/// Levels that a channel may have.
pub const CAPS_CACHE_LEVELS: u32 = 0xff00_0000;
/// What is kept of tokens.
pub const CAPS_CONTEXT: u32 = 0x110;
/// Tokens of the context.
pub const CAPS_CONTEXT_TOKENS: u32 = 0x0000_ffff;
/// Tokens of the longest prefill.
pub const CAPS_CONTEXT_BUFFER: u32 = 0xffff_0000;
/// The vector unit.
pub const CAPS: u32 = 0x114;
/// Elements of a beat.
pub const CAPS_LANES: u32 = 0x0000_ffff;
/// Beats of the longest row.
pub const CAPS_MAX_BEATS: u32 = 0xffff_0000;
/// The activation, and steps that not every build has.
pub const FUNCTION: u32 = 0x118;
/// What the step activate is.
pub const FUNCTION_FUNCTION: u32 = 0x0000_00ff;
/// Results that are saturated, infinite or no number; 64 bits.
pub const OVERFLOWS: u32 = 0x120;
/// Multiplications with keys and values; 64 bits.
pub const MULTIPLICATIONS: u32 = 0x128;
/// Those that were skipped; 64 bits.
pub const SKIPPED: u32 = 0x130;
/// The cache.
pub const CACHE: u32 = 0x138;
/// Its tokens.
pub const CACHE_CACHED: u32 = 0x0000_ffff;
/// A key was out of tolerance, and its channel had no level left.
pub const CACHE_BEYOND_K: u32 = 0x0001_0000;
/// A value was.
pub const CACHE_BEYOND_V: u32 = 0x0002_0000;
/// Blocks of streams that were read; 64 bits.
pub const STREAM_READ: u32 = 0x140;
/// Blocks of streams that were written; 64 bits.
pub const STREAM_WRITTEN: u32 = 0x148;
/// What was damaged.
pub const DAMAGE: u32 = 0x150;
/// Its kind; 0 without damage.
pub const DAMAGE_KIND: u32 = 0x0000_00ff;
/// It is of values, not of keys.
pub const DAMAGE_VALUES: u32 = 0x0000_0100;
/// Address of the damaged area; 64 bits.
pub const DAMAGE_WHERE: u32 = 0x158;
