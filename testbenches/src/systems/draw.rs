//! Draws that jobs of all accelerators have in common.

use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::program::Program;

/// One time in so many.
pub fn often(rng: &mut StimulusRng, one_in: u32) -> bool {
    rng.random_range(0..one_in) == 0
}

/// Up to `most`, the ends and small ones among them.
pub fn size(rng: &mut StimulusRng, most: u32) -> u32 {
    match rng.random_range(0..5u8) {
        0 => most,
        1 => rng.random_range(1..=most.min(3)),
        _ => rng.random_range(1..=most),
    }
}

/// fp16: mild, seldom anything.
pub fn half(rng: &mut StimulusRng) -> u16 {
    match rng.random_range(0..80u8) {
        0 => rng.random(),
        1 => u16::from(rng.random::<bool>()) << 15,
        _ => rng.random_range(0x3000..0x4400u16) | u16::from(rng.random::<bool>()) << 15,
    }
}

/// Rows of `bytes` bytes with something between them, or, if it may be, one row for all.
pub fn area(rng: &mut StimulusRng, program: &mut Program, rows: u32, bytes: u32, repeats: bool) -> (u64, u32) {
    if repeats && often(rng, 8) {
        return (program.take(rng, bytes.into()), 0);
    }
    let stride = bytes.next_multiple_of(64) + 64 * rng.random_range(0..2);
    (program.take(rng, u64::from(stride * (rows - 1) + bytes)), stride)
}

/// Bytes of [`area`] at most.
pub fn area_bytes(rows: u32, bytes: u32) -> u32 {
    // And the gap that stays free in front of it.
    rows * (bytes.next_multiple_of(64) + 64) + 128
}
