//! Sequences of tokens that reach every corner of CPQ: channels of all spreads, drifts that open levels, empty channels,
//! tokens of zeros.

use golden::titanus::cpq::{Config, Sequence};
use golden::titanus::level::Level;
use rand::RngExt;
use sim::kit::tensors::{Extent, Numbers, Tensors, Wanted, signed};
use sim::stimulus::{Stall, StimulusRng};

/// A sequence as the hardware gets it: pruned tokens, and how many of them are called prefill.
#[derive(Clone, Debug)]
pub struct Case {
    /// Width of a quantized value.
    pub bits: u32,
    /// Tokens that the start announces as prefill.
    pub prefill: usize,
    /// Pruned tokens.
    pub tokens: Vec<Vec<i8>>,
}

impl Case {
    /// The golden result in hardware with so many levels and a buffer for so many tokens.
    pub fn encode(&self, levels: u32, buffer_tokens: u32) -> Sequence {
        let config = Config { bits: self.bits, max_levels: levels as usize };
        Sequence::encode(config, &self.tokens, self.prefill.min(buffer_tokens as usize))
    }

    /// A random sequence of one token or more.
    pub fn random(rng: &mut StimulusRng, width: usize, longest: usize) -> Self {
        let count = rng.random_range(1..=longest.max(1));
        let prefill = match rng.random_range(0..4u8) {
            0 => 0,
            1 => count,
            // More than come, by any bit of the number.
            2 => (1 << rng.random_range(6..16u32)) + rng.random_range(1..=3),
            _ => rng.random_range(0..=count),
        };
        // Few bits tolerate much; with many of them a level may be wider than all values.
        let bits = match rng.random_range(0..5u8) {
            0 => 8,
            1 | 2 => rng.random_range(2..=4),
            _ => rng.random_range(2..=8),
        };
        let mut tokens = random_tokens(rng, width, count);
        if rng.random_range(0..2u8) == 0 {
            edges(rng, &mut tokens, prefill.min(count), bits);
        }
        Self { bits, prefill, tokens }
    }
}

/// The tensors of a sequence: tokens, one tensor for each of `sides`, and numbers of the sequence.
pub fn wanted(sides: &[(&'static str, &'static str)], width: u32) -> Vec<Wanted> {
    let of = |name, meaning, range, shape| Wanted { name, meaning, numbers: Numbers::Integers(range), shape };
    let tokens = vec![Extent::Named("tokens"), Extent::Exactly(width as usize)];
    let each = vec![Extent::Exactly(sides.len())];
    let sides = sides.iter().map(|&(name, meaning)| of(name, meaning, signed(8), tokens.clone()));
    let numbers = [
        of("bits", "widths of quantized values", 2..=8, each),
        of("prefill", "tokens that are prefill", 0..=i64::from(i16::MAX), vec![Extent::Exactly(1)]),
    ];
    sides.chain(numbers).collect()
}

/// The tokens of a side.
pub fn tokens(tensors: &Tensors, side: &str) -> Vec<Vec<i8>> {
    tensors.rows(side).map(|token| token.iter().map(|&x| x as i8).collect()).collect()
}

/// Widths of quantized values, and the number of tokens that are prefill.
pub fn numbers(tensors: &Tensors) -> (Vec<u32>, usize) {
    let bits = tensors.all("bits").iter().map(|&bits| bits as u32).collect();
    (bits, tensors.all("prefill")[0] as usize)
}

/// Puts some elements exactly at the ends of the tolerance range of their channel, or one step beyond.
fn edges(rng: &mut StimulusRng, tokens: &mut [Vec<i8>], prefill: usize, bits: u32) {
    for c in 0..tokens.first().map_or(0, Vec::len) {
        let mut level: Option<Level> = None;
        for (t, token) in tokens.iter_mut().enumerate() {
            if let Some(level) = level.filter(|_| t >= prefill && rng.random()) {
                let tolerated = level.range / (2 * level.steps()) + rng.random_range(0..=1);
                let low = rng.random_range(0..2u8) == 0;
                let x = if low { level.lo - tolerated } else { level.hi() + tolerated };
                token[c] = i8::try_from(x).unwrap_or(token[c]);
            }
            let x = i32::from(token[c]);
            level = match level {
                _ if x == 0 => level,
                None => Some(Level::spanning(x, x, bits)),
                Some(level) if t < prefill => {
                    let (lo, hi) = (level.lo.min(x), level.hi().min(127).max(x));
                    Some(Level::spanning(lo, hi, bits))
                }
                Some(level) if level.tolerates(x) => Some(level),
                Some(level) => Some(level.extended(x)),
            };
        }
    }
}

/// The tile with some elements of exactly the threshold's magnitude, or one less.
pub fn at_threshold(rng: &mut StimulusRng, tile: &[i8], threshold: u32) -> Vec<i8> {
    let edge = |x: i8, rng: &mut StimulusRng| {
        let magnitude = threshold as i32 - rng.random_range(0..=1);
        let edge = if rng.random_range(0..2u8) == 0 { magnitude } else { -magnitude };
        if rng.random_range(0..4u8) == 0 { i8::try_from(edge).unwrap_or(x) } else { x }
    };
    tile.iter().map(|&x| edge(x, rng)).collect()
}

/// A threshold, and tokens whose elements are often at its edge.
pub fn pruned_tokens(rng: &mut StimulusRng, width: usize, count: usize) -> (u32, Vec<Vec<i8>>) {
    let threshold = match rng.random_range(0..6usize) {
        5 => rng.random_range(0..=255),
        known => [0, 1, 5, 30, 200][known],
    };
    let mut tokens = random_tokens(rng, width, count);
    if rng.random() {
        tokens.iter_mut().for_each(|token| *token = at_threshold(rng, token, threshold));
    }
    (threshold, tokens)
}

/// Tokens whose channels differ in centre, spread and drift.
pub fn random_tokens(rng: &mut StimulusRng, width: usize, count: usize) -> Vec<Vec<i8>> {
    let channels: Vec<(i32, i32, i32, u32)> = (0..width)
        .map(|_| {
            let centre = rng.random_range(-128..=127) * rng.random_range(0..=1);
            let spread = [0, 1, 3, 20, 255][rng.random_range(0..5usize)];
            let drift = [0, 0, 1, 9][rng.random_range(0..4usize)];
            // Share of zeros in eighths; 8 is an empty channel.
            (centre, spread, drift, [0, 1, 4, 7, 8][rng.random_range(0..5usize)])
        })
        .collect();
    // Some channels alternate between two ends, with so much room beside them as is tolerated.
    let ends: Vec<Option<[i32; 2]>> = (0..width)
        .map(|_| {
            let ends = [rng.random_range(-128..-64), rng.random_range(64..=127)];
            (rng.random_range(0..6u8) == 0).then_some(ends)
        })
        .collect();
    (0..count)
        .map(|t| {
            let (all_zero, corners) = (rng.random_range(0..9u8) == 0, rng.random_range(0..12u8) == 0);
            channels
                .iter()
                .zip(&ends)
                .map(|(&(centre, spread, drift, zeros), ends)| {
                    if all_zero || rng.random_range(0..8) < zeros {
                        return 0;
                    }
                    if corners {
                        return [-128i8, 127, 1, -1][rng.random_range(0..4usize)];
                    }
                    if let Some(ends) = ends {
                        return ends[rng.random_range(0..2usize)] as i8;
                    }
                    let step = rng.random_range(-spread..=spread) + drift * t as i32 * (1 - 2 * (centre & 1));
                    (centre + step).clamp(-128, 127) as i8
                })
                .collect()
        })
        .collect()
}

/// Pauses of (input, output) that the benches go through; full speed first.
pub const STALLS: [(Stall, Stall); 5] = [
    (Stall::Never, Stall::Never),
    (Stall::Random { num: 1, den: 2 }, Stall::Never),
    (Stall::Never, Stall::Random { num: 1, den: 2 }),
    (Stall::Bursts { run: 12, gap: 12 }, Stall::Bursts { run: 9, gap: 9 }),
    (Stall::OneIn(4), Stall::Random { num: 9, den: 10 }),
];
