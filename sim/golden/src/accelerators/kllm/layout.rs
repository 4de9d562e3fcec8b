//! How tokens, panels, constants and codebooks lie in memory.

use super::shape::Shape;

/// Bytes of a token before its indices.
pub const HEAD_BYTES: u64 = 64;
/// Bytes of an outlier: position and value.
pub const OUTLIER_BYTES: u64 = 4;
/// Bytes of the constants of a channel.
pub const CONSTANT_BYTES: u64 = 8;
/// Bytes of a codebook.
pub const CODEBOOK_BYTES: u64 = 192;
/// Entries of a codebook.
pub const ENTRIES: usize = 16;

/// Bytes of the indices of a token, with the zeros after them.
#[must_use]
pub fn index_bytes(inner: u64) -> u64 {
    inner.div_ceil(2).next_multiple_of(64)
}

/// Bytes of a token of `inner` positions with room for so many outliers.
#[must_use]
pub fn token_bytes(inner: u64, outliers: u64) -> u64 {
    HEAD_BYTES + index_bytes(inner) + (OUTLIER_BYTES * outliers).next_multiple_of(64)
}

/// Bytes of a row of so many 8-bit integers, with its padding.
#[must_use]
pub fn integer_bytes(inner: u64) -> u64 {
    inner.next_multiple_of(64)
}

/// Bytes of a panel.
pub fn panel_bytes(shape: &Shape, inner: u64) -> u64 {
    inner.div_ceil(shape.inputs.into()) * shape.channels() * u64::from(shape.inputs) / 2
}

/// The nibble of a panel that holds the index of a channel at a position.
pub fn place(shape: &Shape, channel: usize, position: usize) -> usize {
    let (inputs, channels) = (shape.inputs as usize, shape.channels() as usize);
    // Lane l has the channels from l * columns on, and lanes come in order: together these are the channels in order.
    (position / inputs * channels + channel) * inputs + position % inputs
}

/// The bytes of a panel that hold the indices of a channel, beat by beat.
pub fn channel_bytes<'a>(shape: &Shape, panel: &'a [u8], channel: usize) -> impl Iterator<Item = &'a [u8]> {
    let beat = shape.inputs as usize / 2;
    panel.chunks_exact(beat).skip(channel).step_by(shape.channels() as usize)
}

/// A nibble of bytes. The low nibble of a byte comes first.
pub fn nibble(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at / 2] >> (4 * (at % 2)) & 15)
}

/// The 2 bytes at a place.
pub fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The 4 bytes at a place.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The centroids of a codebook as integers. A product needs nothing else of it.
pub struct Centroids {
    /// Centroids of activations.
    pub activations: [i32; ENTRIES],
    /// Centroids of weights.
    pub weights: [i16; ENTRIES],
}

/// Where the centroids of a codebook are.
pub const CENTROIDS: std::ops::Range<usize> = 64..128;

/// Whether the number at a place is a centroid: an integer of `bits` bits, and not the most negative one.
pub fn is_centroid(codebook: &[u8], at: usize, bits: u32) -> bool {
    i64::from(half(codebook, at) as i16).abs() < 1i64 << (bits - 1)
}

impl Centroids {
    /// The centroids of a codebook, if all of them are integers of `bits` bits and none is the most negative one.
    pub fn of(codebook: &[u8], bits: u32) -> Option<Self> {
        let centroid = |at: usize| half(codebook, at) as i16;
        let activations = std::array::from_fn(|k| centroid(CENTROIDS.start + 2 * k).into());
        let weights = std::array::from_fn(|k| centroid(CENTROIDS.start + 2 * (ENTRIES + k)));
        let fit = CENTROIDS.step_by(2).all(|at| is_centroid(codebook, at, bits));
        fit.then_some(Self { activations, weights })
    }

    /// The largest magnitude of a weight.
    pub fn largest_weight(&self) -> u32 {
        self.weights.iter().map(|weight| u32::from(weight.unsigned_abs())).max().unwrap_or(0)
    }

    /// The weights of both nibbles of each byte.
    pub fn weight_pairs(&self) -> [[i16; 2]; 256] {
        std::array::from_fn(|byte| [0, 1].map(|at| self.weights[nibble(&[byte as u8], at)]))
    }
}

/// The midpoints of a codebook for indices of so many bits, fp32.
pub fn midpoints(codebook: &[u8], three_bits: bool) -> Vec<u32> {
    let midpoints = if three_bits { 7 } else { 15 };
    (0..midpoints).map(|k| word(codebook, 4 * k)).collect()
}

/// Positions of the longest token.
pub(super) fn most_inner(shape: &Shape) -> u32 {
    shape.depth * shape.inputs
}
