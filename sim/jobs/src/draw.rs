//! Draws that jobs of all accelerators have in common.

mod area;

pub use area::{area, area_bytes};
use rand::RngExt;
use sim::stimulus::StimulusRng;

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

/// fp16 numbers, mostly finite, with exponents from a few or from all.
pub fn numbers(rng: &mut StimulusRng, count: usize) -> Vec<u16> {
    let low = rng.random_range(0..31u16);
    let span = [0, 1, 4, 30][rng.random_range(0..4usize)].min(30 - low);
    let kind = rng.random_range(0..10u8);
    let one = |rng: &mut StimulusRng| {
        let number = rng.random_range(low << 10..(low + span + 1) << 10) | rng.random_range(0..2u16) << 15;
        match kind {
            0 => number & 0x8000,
            // All but a few are zero or small.
            1 if rng.random_range(0..4u8) > 0 => number & 0x83ff,
            _ => number,
        }
    };
    let mut all: Vec<u16> = (0..count).map(|_| one(rng)).collect();
    let at = rng.random_range(0..count);
    match kind {
        2 => all[at] = 0x7bff,
        3 => all[at] = [0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff][rng.random_range(0..5usize)],
        4 => all = vec![all[0]; count],
        _ => {}
    }
    all
}
