use super::*;
use crate::accelerators::descriptor::Descriptor;
use crate::accelerators::memory::{BusError, SparseMemory};
use crate::common::float::Function;
use crate::common::shell::job_controller::{End, code};
use crate::kllm::fp16;

mod checks;
mod errors;
mod fuzz;
mod random;
mod reference;
mod registers;

/// Panels of 4 channels: 2 lanes of 2. Centroids from -127 to 127, tokens of 24 positions.
const SHAPE: Shape = Shape {
    lanes: 2,
    columns: 2,
    groups: 1,
    inputs: 4,
    centroid_bits: 8,
    buffer: 2,
    depth: 6,
    orizuru: 16,
    kmax: 3,
    vector: vector::Shape {
        lanes: 4,
        max_beats: 8,
        function: Function::Silu,
        address_width: 40,
        steps: vector::STEP_BITS,
    },
};
const LIMITS: Limits = Limits { base: 0x1000, limit: 0xffff, max_descriptors: 8 };
const EXACT: u32 = 1 << 12;

impl Descriptor {
    /// A product of 2 tokens of 5 positions with up to 2 outliers from 0x2000 and 5 channels in panels from 0x3000.
    /// Constants are at 0x4000, the codebook at 0x5000, results at 0x6000, and addends, if any, from 0x7000.
    fn product() -> Self {
        let words = [(32, 2), (36, 5), (40, 5), (52, 192), (56, 64), (60, 64), (112, 64), (116, 2)];
        let longs = [(64, 0x2000), (72, 0x3000), (80, 0x4000), (88, 0x5000), (96, 0x6000), (104, 0x7000)];
        Self::of(1).words(&words).longs(&longs)
    }

    /// A quantizer: 2 rows of 6 numbers from 0x7000, with the codebook at 0x5000, to tokens at 0x2000. One outlier on
    /// each side.
    fn quantize() -> Self {
        let words = [(32, 2), (36, 6), (44, 1 | 1 << 16), (48, 64), (52, 192)];
        Self::of(4).words(&words).longs(&[(64, 0x7000), (72, 0x5000), (80, 0x2000)])
    }
}

fn top_of(shape: Shape) -> KllmTop {
    KllmTop::new(shape).unwrap()
}

fn top() -> &'static KllmTop {
    static TOP: std::sync::LazyLock<KllmTop> = std::sync::LazyLock::new(|| top_of(SHAPE));
    &TOP
}

fn halves(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|&x| (fp16::from_f64(x) as u16).to_le_bytes()).collect()
}

fn floats(memory: &SparseMemory, at: u64, count: usize) -> Vec<f64> {
    memory.bytes(at, 2 * count).chunks(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f64()).collect()
}

/// A token of up to 128 positions: head, indices, outliers.
fn token(scale: f64, bits: u8, indices: &[u8], outliers: &[(u16, f64)]) -> Vec<u8> {
    let mut bytes = vec![0; 192];
    bytes[..2].copy_from_slice(&halves(&[scale]));
    bytes[2] = outliers.len() as u8;
    bytes[4] = bits;
    indices.iter().enumerate().for_each(|(k, index)| bytes[64 + k / 2] |= index << (4 * (k % 2)));
    for (k, &(position, value)) in outliers.iter().enumerate() {
        bytes[128 + 4 * k..][..2].copy_from_slice(&position.to_le_bytes());
        bytes[130 + 4 * k..][..2].copy_from_slice(&halves(&[value]));
    }
    bytes
}

/// Midpoints, centroids of activations and of weights. Nobody reads the centroid values after them.
fn codebook(midpoints: &[f32], activations: &[i16], weights: &[i16]) -> Vec<u8> {
    let mut bytes = vec![0; 192];
    midpoints.iter().enumerate().for_each(|(k, m)| bytes[4 * k..][..4].copy_from_slice(&m.to_le_bytes()));
    activations.iter().enumerate().for_each(|(k, a)| bytes[64 + 2 * k..][..2].copy_from_slice(&a.to_le_bytes()));
    weights.iter().enumerate().for_each(|(k, w)| bytes[96 + 2 * k..][..2].copy_from_slice(&w.to_le_bytes()));
    bytes[128..].fill(0xa5);
    bytes
}

/// Centroids of activations are 10 times their index. Centroids of weights are their index less 8. The channels'
/// indices at the 5 positions: 9, 10, 11, 12, 13 | 7 | 8 | 0 | 9, 7, 9, 7, 9.
fn memory(descriptor: &Descriptor) -> SparseMemory {
    let mut memory = SparseMemory::new();
    memory.store(0x1000, &descriptor.0);
    memory.store(0x2000, &token(2.0, 4, &[1, 2, 3, 0, 5], &[(3, 0.5)]));
    memory.store(0x20c0, &token(0.25, 3, &[0, 0, 0, 0, 0], &[(0, 3.0), (1, -1.0)]));
    // Beats of 4 positions for 4 channels, 2 bytes each. The second beat has 1 position, and 3 unused ones.
    memory.store(0x3000, &[0xa9, 0xcb, 0x77, 0x77, 0x88, 0x88, 0x00, 0x00, 0xfd, 0xff, 0xf7, 0xff, 0x08, 0, 0, 0]);
    memory.store(0x3040, &[0x79, 0x79, 0, 0, 0, 0, 0, 0, 0x09, 0, 0, 0, 0, 0, 0, 0]);
    let constants = [[1.0f32, 1.0]; 5].concat();
    let sparse = |k: usize| if k % 2 == 1 { 2f32.powi(-24) } else { 1.0 };
    let bytes: Vec<u8> = constants.iter().enumerate().flat_map(|(k, c)| (c * sparse(k)).to_le_bytes()).collect();
    memory.store(0x4000, &bytes);
    let tens: Vec<i16> = (0..16).map(|k| if k < 13 { 10 * k } else { 0 }).collect();
    let weights: Vec<i16> = (-8..8).collect();
    let midpoints: Vec<f32> = (0..15).map(|k| (k as f32 - 7.0) / 8.0).collect();
    memory.store(0x5000, &codebook(&midpoints, &tens, &weights));
    memory.store(0x7000, &halves(&[8.0, -0.5, 0.25, -4.0, 1.0, 0.0]));
    memory.store(0x7040, &halves(&[3.0; 6]));
    memory
}

#[test]
fn a_product_by_hand() {
    let mut all = memory(&Descriptor::product());
    let report = top().run(LIMITS, 0x1000, &mut all);
    assert_eq!(report.end, End { code: 0, place: 0, tag: 0, descriptors: 1 });
    // 2 (10 + 40 + 90 + 250) + 0.5 x 4; -2 (110) - 0.5; 0; -16 (110) - 4; 2 (10 - 20 + 30 + 50) - 0.5.
    assert_eq!(floats(&all, 0x6000, 6), [782.0, -220.5, 0.0, -1764.0, 139.5, 0.0]);
    // All inliers are 0: 3 x 1 - 2; -3 + 1; 0; -24 + 8; 3 + 1.
    assert_eq!(floats(&all, 0x6040, 6), [1.0, -2.0, 0.0, -16.0, 4.0, 0.0]);
    assert_eq!(report.written(), [0x6000..=0x6009, 0x6040..=0x6049]);
    // Two panels: 2 beats of the first token, 3 beats of the second.
    assert_eq!((report.beats(), report.overflows()), (Beats { taken: 10, repeated: 2 }, 0));
    let mut all = memory(&Descriptor::product().word(48, 1));
    top().run(LIMITS, 0x1000, &mut all);
    assert_eq!(floats(&all, 0x6000, 6), [790.0, -221.0, 0.25, -1768.0, 140.5, 0.0]);
}

/// Rows of integers in place of tokens: 3, 0x12, 0, 255, 16 and five times 1. Nibbles are their own centroids.
#[test]
fn integers_by_hand() {
    let words = [(32, 2), (36, 5), (40, 5), (52, 64), (56, 64), (60, 64)];
    let longs = [(64, 0x2000), (72, 0x3000), (80, 0x4000), (88, 0x5000), (96, 0x6000)];
    let descriptor = Descriptor::of(2).words(&words).longs(&longs);
    let mut all = memory(&descriptor);
    all.store(0x2000, &[3, 0x12, 0, 255, 16, 0xee]);
    all.store(0x2040, &[1, 1, 1, 1, 1, 0xee]);
    let (nibbles, weights): (Vec<i16>, Vec<i16>) = (0..16).map(|k| (k, k - 8)).unzip();
    all.store(0x5000, &codebook(&[], &nibbles, &weights));
    let report = top().run(LIMITS, 0x1000, &mut all);
    assert_eq!((report.end.code, report.beats()), (0, Beats { taken: 16, repeated: 0 }));
    // Weights 1, 2, 3, 4, 5 | -1 five times | 0 | -8 five times | 1, -1, 1, -1, 1.
    let sums =
        [3 + 36 + 1020 + 80, -(3 + 18 + 255 + 16), 0, -8 * (3 + 18 + 255 + 16), 3 - 18 - 255 + 16].map(f64::from);
    let rounded: Vec<f64> = sums.iter().map(|&sum| fp16::half(sum).to_f64()).collect();
    assert_eq!(floats(&all, 0x6000, 5), rounded);
    assert_eq!(floats(&all, 0x6040, 5), [15.0, -5.0, 0.0, -40.0, 1.0]);
    // Nobody reads the second constant, so it may be no number, infinite, or negative.
    for second in [f32::NAN, f32::INFINITY, -1.0] {
        let mut other = all.clone();
        for channel in 0..5 {
            other.store(0x4004 + 8 * channel, &second.to_le_bytes());
        }
        top().run(LIMITS, 0x1000, &mut other);
        assert_eq!(floats(&other, 0x6000, 5), rounded, "{second}");
        assert_eq!(floats(&other, 0x6040, 5), [15.0, -5.0, 0.0, -40.0, 1.0], "{second}");
    }
    // Integers have no outliers.
    let report = top().run(LIMITS, 0x1000, &mut memory(&descriptor.words(&[(116, 1)])));
    assert_eq!(report.end.code, code::RESERVED);
}

#[test]
fn channels_behind_the_last_one_are_nowhere() {
    let mut all = memory(&Descriptor::product().words(&[(32, 1), (36, 3)]));
    top().run(LIMITS, 0x1000, &mut all);
    assert_eq!(floats(&all, 0x6000, 4), [782.0, -220.5, 0.0, 0.0]);
}

#[test]
fn rows_become_tokens() {
    let mut all = memory(&Descriptor::quantize());
    let report = top().run(LIMITS, 0x1000, &mut all);
    assert_eq!((report.end.code, report.overflows(), report.beats()), (0, 0, Beats::default()));
    // 8 and -4 are outliers. The scale is 1. -0.5, 0.25, 1, 0 are above 3, 9, 15, 7 midpoints.
    let expected = token(1.0, 4, &[0, 3, 9, 0, 15, 7], &[(0, 8.0), (3, -4.0)]);
    assert_eq!(all.bytes(0x2000, 192), expected);
    // All values are equal: both sides take the first one.
    assert_eq!(all.bytes(0x20c0, 192), token(3.0, 4, &[0, 15, 15, 15, 15, 15], &[(0, 3.0)]));
    assert_eq!(report.written(), [0x2000..=0x217f]);
    let mut all = memory(&Descriptor::quantize().word(40, 1).word(44, 0));
    top().run(LIMITS, 0x1000, &mut all);
    // Seven midpoints from -7/8 to -1/8, times 8.
    assert_eq!(all.bytes(0x2000, 128), token(8.0, 3, &[7, 7, 7, 3, 7, 7], &[])[..128]);
}

/// The next descriptor takes the tokens that one descriptor makes.
#[test]
fn a_chain() {
    let first = Descriptor::quantize().next(0x1080);
    let second = Descriptor::product().words(&[(40, 6)]).tagged(7, 0x8000);
    let mut all = memory(&first);
    all.store(0x1080, &second.0);
    let report = top().run(LIMITS, 0x1000, &mut all);
    assert_eq!(report.end, End { code: 0, place: 0, tag: 7, descriptors: 2 });
    assert_eq!(all.bytes(0x8000, 1), [7]);
    // Centroids 30, 90, 0, 70; the weights of the first channel are 1, 2, 3, 4, 5, 7.
    assert_eq!(floats(&all, 0x6000, 1), [30.0 * 2.0 + 90.0 * 3.0 + 70.0 * 7.0 + 8.0 - 16.0]);
}

/// Rows longer than the finder of outliers is wide: of 5 outliers of 40 values, segments of 16, 16, 8 have 1, 2, 2.
#[test]
fn segments_share_outliers() {
    let wide = top_of(Shape { kmax: 5, depth: 10, ..SHAPE });
    let mut all = memory(&Descriptor::quantize().words(&[(32, 1), (36, 40), (44, 5)]));
    let row: Vec<f64> = (0..40).map(f64::from).collect();
    all.store(0x7000, &halves(&row));
    let report = wide.run(LIMITS, 0x1000, &mut all);
    assert_eq!(report.end.code, 0);
    let outliers: Vec<u16> = all.bytes(0x2080, 20).chunks(4).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
    assert_eq!((all.bytes(0x2002, 1)[0], outliers), (5, vec![15, 30, 31, 38, 39]));
    assert_eq!(floats(&all, 0x2000, 1), [37.0]);
}

#[test]
fn shapes_that_cannot_be() {
    let said = |shape: Shape| KllmTop::new(shape).unwrap_err();
    assert_eq!(said(Shape { inputs: 5, ..SHAPE }), "inputs is 5, allowed: multiples of 2");
    assert_eq!(said(Shape { lanes: 0, ..SHAPE }), "lanes is 0, allowed: 1 to 255");
    assert_eq!(said(Shape { depth: 16_385, ..SHAPE }), "depth is 16385, allowed: 1 to 16384");
    assert_eq!(said(Shape { centroid_bits: 17, ..SHAPE }), "centroid_bits is 17, allowed: 2 to 16");
}
