//! Registers that `vector_top` has beside those of the shell.

/// How it was built.
pub const CAPS: u32 = 0x100;
/// Elements of a beat. Constant.
pub const CAPS_LANES: u32 = 0x0000ffff;
/// Beats of the longest row. Constant.
pub const CAPS_MAX_BEATS: u32 = 0xffff0000;
/// What the step activate is.
pub const FUNCTION: u32 = 0x104;
/// 0 GELU, 1 GELU by tanh, 2 SiLU, 3 tanh. Constant.
pub const FUNCTION_FUNCTION: u32 = 0x000000ff;
/// Beats of results of the job in which an element was saturated, infinite or no number.
pub const OVERFLOWS: u32 = 0x108;
