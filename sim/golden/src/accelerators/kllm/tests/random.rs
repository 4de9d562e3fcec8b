//! Random work: valid operands of many shapes, as bytes in memory.

use super::*;

/// xorshift64*: the same numbers from the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// fp16: often a moderate value, rarely any bits.
    pub fn half(&mut self) -> u16 {
        let sign = (self.below(2) as u16) << 15;
        match self.below(60) {
            0 => self.next() as u16,
            1 => sign,
            _ => sign | (0x3000 + self.below(0x1400) as u16),
        }
    }

    /// fp32: about 2^`exponent`, rarely any bits.
    pub fn single(&mut self, exponent: i32) -> u32 {
        if self.one_in(100) {
            return self.next() as u32;
        }
        let magnitude = (1.0 + self.below(1 << 23) as f32 / (1 << 23) as f32) * 2f32.powi(exponent);
        (if self.one_in(4) { -magnitude } else { magnitude }).to_bits()
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Smallest, odd, medium, and the paper's shape.
pub const SHAPES: [Shape; 4] = [
    Shape { lanes: 1, columns: 2, inputs: 4, centroid_bits: 12, depth: 5, kmax: 2, ..SHAPE },
    Shape { lanes: 3, columns: 5, inputs: 6, centroid_bits: 7, depth: 9, kmax: 9, ..SHAPE },
    Shape { lanes: 6, columns: 4, groups: 3, inputs: 2, centroid_bits: 16, depth: 40, kmax: 5, ..SHAPE },
    Shape {
        lanes: 16,
        columns: 32,
        groups: 4,
        inputs: 16,
        centroid_bits: 12,
        depth: 4,
        kmax: 8,
        orizuru: 256,
        ..SHAPE
    },
];

pub const WIDE: Limits = Limits { base: 0x1000, limit: 0xf_ffff, max_descriptors: 8 };
pub const TOKENS: u64 = 0x1_0000;
pub const PANELS: u64 = 0x2_0000;
pub const CONSTANTS: u64 = 0x4_0000;
pub const CODEBOOK: u64 = 0x5_0000;
pub const OUT: u64 = 0x6_0000;
pub const ADDENDS: u64 = 0x7_0000;
pub const X: u64 = 0x8_0000;

/// A product or a quantizer, with all of its operands.
pub struct Case {
    pub shape: Shape,
    pub descriptor: Descriptor,
    pub memory: SparseMemory,
}

/// A codebook whose midpoints ascend.
fn codebook(random: &mut Random, bits: u32) -> Vec<u8> {
    let most = (1i64 << (bits - 1)) - 1;
    let mut centroids = |_| (random.below(2 * most as u64 + 1) as i64 - most) as i16;
    let (activations, weights) =
        (std::array::from_fn::<_, 16, _>(&mut centroids), std::array::from_fn::<_, 16, _>(&mut centroids));
    let mut midpoints: Vec<f32> = (0..15).map(|_| random.below(2001) as f32 / 1000.0 - 1.0).collect();
    midpoints.sort_by(f32::total_cmp);
    super::codebook(&midpoints, &activations, &weights)
}

/// A token of `inner` positions in a row of `stride` bytes. Bytes without a meaning are not 0.
fn token(random: &mut Random, inner: u64, most: u64, stride: u64) -> Vec<u8> {
    let mut bytes = random.bytes(stride);
    // Often close together.
    let count = random.below(most.min(inner) + 1) as usize;
    let mut positions: Vec<u16> = (0..inner as u16).collect();
    while positions.len() > count {
        let at = if random.one_in(3) { 0 } else { random.below(positions.len() as u64) as usize };
        positions.remove(at);
    }
    let scale = random.half() & 0x7fff;
    bytes[..2].copy_from_slice(&scale.to_le_bytes());
    bytes[2..4].copy_from_slice(&(count as u16).to_le_bytes());
    bytes[4] = 3 + random.below(2) as u8;
    let first = 64 + inner.div_ceil(2).next_multiple_of(64) as usize;
    for (k, position) in positions.into_iter().enumerate() {
        bytes[first + 4 * k..][..2].copy_from_slice(&position.to_le_bytes());
        bytes[first + 4 * k + 2..][..2].copy_from_slice(&random.half().to_le_bytes());
    }
    bytes
}

pub fn product(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let shape = SHAPES[random.below(4) as usize];
    let in_panel = shape.channels();
    let (rows, inner) = (1 + random.below(4), 1 + random.below(shape.inner()));
    let channels = if in_panel > 100 { in_panel - 20 + random.below(60) } else { 1 + random.below(3 * in_panel) };
    let most = random.below(2 * u64::from(shape.kmax) + 1);
    let stride = token_bytes(inner, most) + 64 * random.below(2);
    let panel = layout::panel_bytes(&shape.group(), inner).next_multiple_of(64) + 64 * random.below(2);
    let (add, in_place) = (random.one_in(2), random.one_in(2));
    let out_stride = (2 * channels).next_multiple_of(64) as u32;
    let words = [
        (32, rows as u32),
        (36, channels as u32),
        (40, inner as u32),
        (48, add.into()),
        (52, stride as u32),
        (56, panel as u32),
        (60, out_stride),
        (112, out_stride),
        (116, most as u32),
    ];
    let addends = if in_place { OUT } else { ADDENDS };
    let longs = [(64, TOKENS), (72, PANELS), (80, CONSTANTS), (88, CODEBOOK), (96, OUT), (104, addends)];
    let descriptor = Descriptor::of(1).words(&words).longs(&longs);
    let mut memory = SparseMemory::new();
    memory.store(0x1000, &descriptor.0);
    for row in 0..rows {
        memory.store(TOKENS + row * stride, &token(&mut random, inner, most, stride));
        let row_of_addends: Vec<u8> = (0..channels).flat_map(|_| random.half().to_le_bytes()).collect();
        memory.store(addends + row * u64::from(out_stride), &row_of_addends);
    }
    memory.store(PANELS, &random.bytes(channels.div_ceil(in_panel) * u64::from(shape.groups) * panel));
    let bits = shape.centroid_bits as i32;
    let constants: Vec<u8> = (0..channels)
        .flat_map(|_| [random.single(-2 * bits + 2), random.single(-bits - 22)])
        .flat_map(u32::to_le_bytes)
        .collect();
    memory.store(CONSTANTS, &constants);
    memory.store(CODEBOOK, &codebook(&mut random, shape.centroid_bits));
    Case { shape, descriptor, memory }
}

pub fn quantize(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let shape = SHAPES[random.below(4) as usize];
    let (rows, columns) = (1 + random.below(4), 1 + random.below(shape.inner()));
    let largest = random.below(u64::from(shape.kmax).min(columns) + 1);
    let smallest = random.below(u64::from(shape.kmax).min(columns - largest) + 1);
    let stride = token_bytes(columns, largest + smallest) + 64 * random.below(2);
    let x_stride = (2 * columns).next_multiple_of(64) as u32;
    let words = [
        (32, rows as u32),
        (36, columns as u32),
        (40, random.below(2) as u32),
        (44, (largest | smallest << 16) as u32),
        (48, x_stride),
        (52, stride as u32),
    ];
    let descriptor = Descriptor::of(4).words(&words).longs(&[(64, X), (72, CODEBOOK), (80, TOKENS)]);
    let mut memory = SparseMemory::new();
    memory.store(0x1000, &descriptor.0);
    memory.store(TOKENS, &random.bytes(rows * stride));
    memory.store(CODEBOOK, &codebook(&mut random, shape.centroid_bits));
    for row in 0..rows {
        // Few different values, which give ties; or many.
        let few = random.one_in(3);
        let mut value =
            || if few { [0x3c00, 0xbc00, 0, 0x8000, 0x4000][random.below(5) as usize] } else { random.half() };
        let bytes: Vec<u8> = (0..columns).flat_map(|_| value().to_le_bytes()).collect();
        memory.store(X + row * u64::from(x_stride), &bytes);
    }
    Case { shape, descriptor, memory }
}
