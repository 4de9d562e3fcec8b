//! Random tokens and valid operations.

use super::*;
use crate::common::row::is_special;

/// xorshift64*: the same numbers from the same seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8) % end
    }

    /// fp16 of moderate size.
    pub fn half(&mut self) -> u16 {
        (self.below(2) << 15 | (0x3000 + self.below(0x1600))) as u16
    }
}

/// Smallest, odd, larger.
pub const SHAPES: [Shape; 3] = [
    Shape { columns: 1, rows: 1, width: 1, slots: 1, group: 1, score_lanes: 1, score_bits: 2, amount_bits: 2, ..SHAPE },
    Shape { columns: 2, rows: 3, width: 6, slots: 7, group: 3, score_lanes: 2, score_bits: 4, amount_bits: 5, ..SHAPE },
    Shape { columns: 8, rows: 8, width: 16, slots: 20, group: 4, score_lanes: 8, ..SHAPE },
];

pub const QUERIES: u64 = 0x1_0000;
pub const KEYS: u64 = 0x2_0000;
pub const VALUES: u64 = 0x3_0000;
pub const OUT: u64 = 0x4_0000;
/// The stride of all rows.
pub const STRIDE: u64 = 256;
pub const WIDE: Limits = Limits { base: 0x1000, limit: 0xf_ffff, max_descriptors: 8 };

/// Attention of some tokens, and a memory with them.
pub struct Case {
    pub shape: Shape,
    pub tokens: u64,
    pub group: u64,
    pub elements: u64,
    pub budget: u64,
    pub sink: u64,
    pub window: u64,
    pub shift: u64,
    pub memory: SparseMemory,
    quantizers: [u32; 3],
    scales: [u32; 2],
}

impl Case {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let shape = SHAPES[random.below(3) as usize];
        let group = 1 + random.below(shape.group.into());
        let elements = u64::from(shape.columns) * (1 + random.below(u64::from(shape.width / shape.columns)));
        let budget = 1 + random.below(shape.slots.into());
        let sink = random.below(budget.div_ceil(2));
        let window = random.below(budget - sink);
        let tokens = 1 + random.below(40);
        let mut memory = SparseMemory::new();
        for row in 0..tokens {
            for (at, count) in [(QUERIES, group * elements), (KEYS, elements), (VALUES, elements)] {
                let bytes: Vec<u8> = (0..count).flat_map(|_| random.half().to_le_bytes()).collect();
                memory.store(at + STRIDE * row, &bytes);
            }
        }
        let mut single = |least: i32| {
            let fraction = 1.0 + random.below(1 << 20) as f32 / (1 << 20) as f32;
            (fraction * 2f32.powi(least + random.below(3) as i32)).to_bits()
        };
        let quantizers = [single(9), single(9), single(9)];
        let scales = [single(-30), single(-27)];
        let shift = random.below(24);
        Self { shape, tokens, group, elements, budget, sink, window, shift, memory, quantizers, scales }
    }

    /// The operation for tokens from `first` on.
    pub fn descriptor(&self, first: u64, tokens: u64) -> Descriptor {
        let at = |place| place + STRIDE * first;
        let sizes = [(32, 2), (36, tokens), (40, self.group), (44, self.elements)];
        let policy = [(52, self.budget | self.sink << 16), (56, self.window | self.shift << 16)];
        let words = sizes.into_iter().chain(policy).map(|(at, word)| (at, word as u32));
        let strides = [80, 84, 88, 92].map(|at| (at, STRIDE as u32));
        let words: Vec<(usize, u32)> = words.chain(strides).collect();
        let [q, k, v] = self.quantizers;
        Descriptor::of(2)
            .words(&words)
            .words(&[(60, q), (64, k), (68, v), (72, self.scales[0]), (76, self.scales[1])])
            .longs(&[(96, at(QUERIES)), (104, at(KEYS)), (112, at(VALUES)), (120, at(OUT))])
    }

    /// Does the tokens from `first` on.
    pub fn run(&mut self, top: &KelleTop, first: u64, tokens: u64) -> Report {
        self.memory.store(0x1000, &self.descriptor(first, tokens).0);
        let report = top.run(WIDE, 0x1000, &mut self.memory);
        assert_eq!(report.end.code, 0);
        report
    }

    /// Results of a token.
    pub fn results(&self, token: u64) -> Vec<f64> {
        floats(&self.memory, OUT + STRIDE * token, (self.group * self.elements) as usize)
    }

    /// Numbers of a row, times the quantizer.
    pub fn scaled(&self, place: u64, token: u64, quantizer: usize) -> Vec<f64> {
        let count = if quantizer == 0 { self.group } else { 1 } * self.elements;
        let quantizer = f64::from(f32::from_bits(self.quantizers[quantizer]));
        floats(&self.memory, place + STRIDE * token, count as usize).into_iter().map(|x| x * quantizer).collect()
    }

    pub fn scale(&self, of: usize) -> f64 {
        f32::from_bits(self.scales[of]).into()
    }
}

/// No number of these cases is out of range.
#[test]
fn cases_are_mild() {
    for seed in 0..40 {
        let mut case = Case::new(seed);
        let report = case.run(&top_of(case.shape), 0, case.tokens);
        assert_eq!((report.overflows(), report.counts().saturations), (0, 0), "{seed}");
        let results = case.memory.bytes(OUT, 2 * (case.group * case.elements) as usize);
        assert!(results.chunks(2).all(|b| !is_special(u16::from_le_bytes([b[0], b[1]]))));
    }
}
