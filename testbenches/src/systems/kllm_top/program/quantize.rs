//! Rows that become tokens.

use golden::systems::kllm_top::{CODEBOOK_BYTES, Shape, token_bytes};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::{EXACT, Program, area, area_bytes, half, often, size};

/// Rows that become tokens, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantize {
    /// 4; others are refused, or something else.
    pub opcode: u8,
    /// As of a product.
    pub header_flags: u16,
    /// The tag.
    pub tag: u32,
    /// Where it is written.
    pub tag_address: u64,
    /// Rows, columns.
    pub sizes: [u32; 2],
    /// Three bits, exact.
    pub options: u32,
    /// How many of the largest and of the smallest elements are outliers.
    pub outliers: [u32; 2],
    /// Address and stride of rows, codebook, tokens; the codebook has no stride.
    pub places: [(u64, u32); 3],
    /// Words that must be 0: from 56 on, except the addresses.
    pub zeros: [u32; 12],
}

impl Quantize {
    /// Its bytes; there is no next one.
    #[must_use]
    pub fn bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        let mut put = |at: usize, value: u64, count: usize| {
            bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
        };
        put(0, 0x5a42_4e53, 4);
        put(4, 1, 1);
        put(5, self.opcode.into(), 1);
        put(6, self.header_flags.into(), 2);
        put(16, self.tag.into(), 4);
        put(24, self.tag_address, 8);
        put(32, self.sizes[0].into(), 4);
        put(36, self.sizes[1].into(), 4);
        put(40, self.options.into(), 4);
        put(44, u64::from(self.outliers[0] | self.outliers[1] << 16), 4);
        let [x, codebook, out] = self.places;
        for (at, place) in [(64, x), (72, codebook), (80, out)] {
            put(at, place.0, 8);
        }
        for (at, place) in [(48, x), (52, out)] {
            put(at, place.1.into(), 4);
        }
        for (k, zero) in self.zeros.into_iter().enumerate() {
            put(if k < 2 { 56 + 4 * k } else { 80 + 4 * k }, zero.into(), 4);
        }
        bytes
    }

    /// Makes a field wrong that a check of its own is for.
    pub fn spoil(&mut self, rng: &mut StimulusRng, shape: &Shape) {
        let place = rng.random_range(0..3usize);
        match rng.random_range(0..7u8) {
            0 => self.options |= 1 << [1, 7, 11, 13, 31][rng.random_range(0..5usize)],
            1 => self.zeros[rng.random_range(0..12usize)] = 1 << rng.random_range(0..32u8),
            2 => {
                let at = rng.random_range(0..2usize);
                let most = [65_535, shape.depth * shape.inputs][at];
                self.sizes[at] = [0, most + 1, u32::MAX][rng.random_range(0..3usize)];
            }
            3 => match rng.random_range(0..3u8) {
                0 => self.outliers[rng.random_range(0..2usize)] = shape.kmax + 1,
                1 => self.outliers = [self.sizes[1].min(shape.kmax); 2],
                _ => self.outliers = [0xffff, 0xffff],
            },
            4 => self.places[place].0 |= 1 << rng.random_range(0..6u8),
            5 => self.places[[0, 2][rng.random_range(0..2usize)]].1 |= 1 << rng.random_range(0..6u8),
            _ => self.places[place].0 ^= 1 << rng.random_range(12..64u8),
        }
    }
}

/// Tokens that a job of its chain has made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Where they are.
    pub place: (u64, u32),
    /// How many there are.
    pub tokens: u32,
    /// Positions of each.
    pub inner: u32,
    /// Outliers that there is room for.
    pub outliers: u32,
}

impl Made {
    /// The tokens of a job.
    #[must_use]
    pub fn by(job: &Quantize) -> Self {
        let [tokens, inner] = job.sizes;
        Self { place: job.places[2], tokens, inner, outliers: job.outliers[0] + job.outliers[1] }
    }
}

/// Rows that become tokens.
pub fn quantize(rng: &mut StimulusRng, program: &mut Program, shape: &Shape) -> Quantize {
    let (mut rows, mut columns) = (size(rng, 6), size(rng, shape.depth * shape.inputs));
    let most = shape.kmax;
    let mut outliers = || if often(rng, 4) { 0 } else { size(rng, most) };
    let (largest, smallest) = (outliers(), outliers());
    let share = program.left() as u32 / 4;
    let token = |columns: u32| token_bytes(columns.into(), (largest + smallest).into()) as u32;
    let bytes = |rows, columns| {
        area_bytes(rows, 2 * columns) + area_bytes(rows, token(columns)) + area_bytes(1, CODEBOOK_BYTES as u32) + 256
    };
    while bytes(rows, columns) > share && [rows, columns] != [1; 2] {
        if columns > 8 * rows { columns = columns.div_ceil(2) } else { rows = rows.div_ceil(2) }
    }
    let largest = largest.min(columns);
    let smallest = smallest.min(columns - largest);
    let x = area(rng, program, rows, 2 * columns, true);
    for row in 0..if x.1 == 0 { 1 } else { rows } {
        let bytes = values(rng, columns);
        program.put(x.0 + u64::from(row * x.1), &bytes);
    }
    let codebook = midpoints(rng, program);
    // Seldom where the rows are: the result is not defined, but the job ends.
    let mut out = area(rng, program, rows, token_bytes(columns.into(), (largest + smallest).into()) as u32, false);
    if often(rng, 24) {
        program.plain = false;
        out = [x, (out.0, 0)][rng.random_range(0..2usize)];
    }
    Quantize {
        opcode: 4,
        header_flags: rng.random_range(0..4),
        tag: rng.random(),
        tag_address: program.take(rng, 64),
        sizes: [rows, columns],
        options: u32::from(rng.random::<bool>()) | u32::from(often(rng, 8)) << EXACT,
        outliers: [largest, smallest],
        places: [x, codebook, out],
        zeros: [0; 12],
    }
}

/// A row: numbers with some large ones, few different values with many ties, or anything.
fn values(rng: &mut StimulusRng, columns: u32) -> Vec<u8> {
    let kind = rng.random_range(0..5u8);
    let pool: Vec<u16> = (0..3).map(|_| half(rng)).collect();
    let value = |rng: &mut StimulusRng| match kind {
        0 => pool[rng.random_range(0..3usize)],
        1 if often(rng, 3) => rng.random(),
        2 => rng.random_range(0..0x3c00u16) | u16::from(rng.random::<bool>()) << 15,
        3 => rng.random_range(0..0x3c00u16),
        _ => half(rng),
    };
    (0..columns).flat_map(|_| value(rng).to_le_bytes()).collect()
}

/// A codebook whose midpoints ascend between -1 and 1; some of them not, or anything, or none.
fn midpoints(rng: &mut StimulusRng, program: &mut Program) -> (u64, u32) {
    let mut middles: Vec<f32> = (0..15).map(|_| rng.random_range(-1.0..1.0f32)).collect();
    middles.sort_by(f32::total_cmp);
    let wild = often(rng, 4);
    let mut bytes: Vec<u8> = (0..CODEBOOK_BYTES).map(|_| rng.random()).collect();
    for (k, middle) in middles.into_iter().enumerate() {
        let word = match rng.random_range(0..6u8) {
            0 if wild => rng.random(),
            1 if wild => [f32::NAN, f32::INFINITY, f32::MAX, -0.0, 1e-40, -3.0][rng.random_range(0..6usize)].to_bits(),
            // Of few bits, as the middles of two numbers of fp16 are: values lie on thresholds.
            2 | 3 => middle.to_bits() & 0xfff8_0000,
            _ => middle.to_bits(),
        };
        bytes[4 * k..4 * k + 4].copy_from_slice(&word.to_le_bytes());
    }
    let address = program.take(rng, bytes.len() as u64);
    program.put(address, &bytes);
    (address, 0)
}
