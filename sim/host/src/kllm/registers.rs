//! Registers of `kllm_top`.
//!
//! Written by hand from the contract until the block is there: then the file that the generator makes of it takes this one's
//! place, as in [`tender`](crate::tender::registers).

/// Lanes, channels of a lane, positions of a beat.
pub const CAPS: u32 = 0x100;
/// Lanes.
pub const CAPS_LANES: u32 = 0xff;
/// Channels of a lane.
pub const CAPS_COLUMNS: u32 = 0xf_ff00;
/// Positions of a beat.
pub const CAPS_INPUTS: u32 = 0xff0_0000;
/// Bits of a centroid, words of a bank of weights.
pub const CENTROID: u32 = 0x104;
/// Bits of a centroid.
pub const CENTROID_BITS: u32 = 0x1f;
/// Words of a bank of weights.
pub const CENTROID_BUFFER: u32 = 0xffff_0000;
/// Positions of the longest token.
pub const KMAX: u32 = 0x108;
/// What finds outliers.
pub const ORIZURU: u32 = 0x10c;
/// Values at once.
pub const ORIZURU_VALUES: u32 = 0xffff;
/// Outliers of a token on each side.
pub const ORIZURU_OUTLIERS: u32 = 0xffff_0000;
/// Elements of a beat and beats of the longest row of the vector unit.
pub const VECTOR_CAPS: u32 = 0x110;
/// Elements of a beat.
pub const VECTOR_CAPS_LANES: u32 = 0xffff;
/// Beats of the longest row.
pub const VECTOR_CAPS_MAX_BEATS: u32 = 0xffff_0000;
/// The activation, and steps that not every build has.
pub const FUNCTION: u32 = 0x114;
/// Number of the activation.
pub const FUNCTION_FUNCTION: u32 = 0xff;
/// Results that are infinite or no numbers: 64 bits.
pub const OVERFLOWS: u32 = 0x118;
/// Beats that the lanes took: 64 bits.
pub const COMPUTE: u32 = 0x120;
/// Beats that were sent again: 64 bits.
pub const REPEATS: u32 = 0x128;
