//! Registers of `kelle_top` behind those of all accelerators.

/// The array.
pub const CAPS: u32 = 0x100;
/// Its rows.
pub const CAPS_ROWS: u32 = 0x0000_ffff;
/// Its columns.
pub const CAPS_COLUMNS: u32 = 0xffff_0000;
/// Sizes of a linear operation.
pub const LINEAR: u32 = 0x104;
/// Rows, at most.
pub const LINEAR_TOKENS: u32 = 0x0000_ffff;
/// Channels, at most.
pub const LINEAR_INNER: u32 = 0xffff_0000;
/// Heads that the accelerator keeps.
pub const HEADS: u32 = 0x108;
/// How many.
pub const HEADS_HEADS: u32 = 0x0000_ffff;
/// The largest budget.
pub const HEADS_SLOTS: u32 = 0xffff_0000;
/// Sizes of attention.
pub const VECTORS: u32 = 0x10c;
/// Elements of a vector in the cache.
pub const VECTORS_WIDTH: u32 = 0x0000_ffff;
/// Query heads of a head, at most.
pub const VECTORS_GROUP: u32 = 0x00ff_0000;
/// Scores that the softmax takes at once.
pub const VECTORS_SCORE_LANES: u32 = 0xff00_0000;
/// Widths of numbers.
pub const SCORES: u32 = 0x110;
/// Bits of an importance.
pub const SCORES_SCORE: u32 = 0x0000_00ff;
/// Bits of what is added to it.
pub const SCORES_AMOUNT: u32 = 0x0000_ff00;
/// Bits of a refresh interval.
pub const SCORES_INTERVAL: u32 = 0x00ff_0000;
/// Cached tokens can be written to memory.
pub const SCORES_SAVE: u32 = 0x0100_0000;
/// Rows of a bank.
pub const CACHE_ROWS: u32 = 0x114;
/// Elements of a beat and beats of the longest row of the vector unit.
pub const VECTOR_CAPS: u32 = 0x118;
/// Elements of a beat.
pub const VECTOR_CAPS_LANES: u32 = 0x0000_ffff;
/// Beats of the longest row.
pub const VECTOR_CAPS_MAX_BEATS: u32 = 0xffff_0000;
/// The activation, and steps that not every build has.
pub const FUNCTION: u32 = 0x11c;
/// What the step activate is: 0 GELU, 1 GELU by tanh, 2 SiLU, 3 tanh.
pub const FUNCTION_FUNCTION: u32 = 0x0000_00ff;
/// Results and scores that are infinite or no numbers, and beats of rows with one.
pub const OVERFLOWS: u32 = 0x120;
/// Activations that saturated or were no numbers.
pub const SATURATIONS: u32 = 0x128;
/// Tokens that were evicted.
pub const EVICTIONS: u32 = 0x130;
/// Rows that were refreshed.
pub const REFRESHES: u32 = 0x138;
/// Cycles in which an access to the cache waited for a refresh.
pub const REFRESH_STALLS: u32 = 0x140;
