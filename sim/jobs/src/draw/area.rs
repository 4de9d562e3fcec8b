//! Areas of memory that a job works on.

use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::often;
use crate::program::Program;

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
