//! Vectors for top-k hardware: every shape that a tournament tree could mishandle.

use golden::format::Format;
use rand::RngExt;
use rand::seq::SliceRandom;
use sim::stimulus::{StimulusRng, corners, fp16_corners};

/// Vector number `number` of a run: the shapes take turns, the content is random.
#[must_use]
pub fn vector(number: u64, n: usize, format: Format, rng: &mut StimulusRng) -> Vec<u64> {
    let mask = format.mask();
    let mut random = || rng.random::<u64>() & mask;
    let corner: Vec<u64> = match format {
        Format::FP16 => fp16_corners().into_iter().map(u64::from).collect(),
        Format::Float(_) | Format::Int { .. } | Format::Uint { .. } => {
            corners(format.width()).iter().filter_map(sim::Bits::to_u64).collect()
        }
    };
    let sorted = |mut values: Vec<u64>| {
        values.sort_by(|&a, &b| format.total_cmp(a, b));
        values
    };
    match number % 9 {
        0 => (0..n).map(|_| random()).collect(),
        1 => (0..n).map(|_| corner[random() as usize % corner.len()]).collect(),
        2 => sorted((0..n).map(|_| random()).collect()),
        3 => sorted((0..n).map(|_| random()).collect()).into_iter().rev().collect(),
        4 => vec![random(); n],
        5 => {
            // Few different values: ties everywhere.
            let (a, b, c) = (random(), random(), random());
            (0..n).map(|_| [a, b, c][random() as usize % 3]).collect()
        }
        6 => {
            // One value apart, alternating.
            let (a, b) = (random(), random());
            (0..n).map(|i| if i % 2 == 0 { a } else { b }).collect()
        }
        7 => {
            // Mostly NaN for floats (all exponent bits set), mostly near the top for integers.
            let ones = mask >> 1 & !(mask >> 12);
            (0..n).map(|_| if random() % 8 == 0 { random() } else { (random() | ones) & mask }).collect()
        }
        _ => {
            let mut values = sorted((0..n).map(|_| random()).collect());
            values.shuffle(rng);
            values
        }
    }
}
