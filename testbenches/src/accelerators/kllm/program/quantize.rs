//! Rows that become tokens.

use golden::accelerators::kllm::{CODEBOOK_BYTES, Shape, token_bytes};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::target::Target;
use jobs::draft::Draft;
use jobs::draw::{area, area_bytes, half, often, size};
use jobs::program::Program;

/// More outliers than the elements of a row, or than there may be.
pub fn too_many(one: &mut Draft, rng: &mut StimulusRng, shape: &Shape) {
    let of_a_row = one.word("columns").min(shape.kmax);
    let count = [of_a_row, shape.kmax + 1, u16::MAX.into()][rng.random_range(0..3usize)];
    one.set("largest", count).set("smallest", count);
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
    pub fn by(job: &Draft) -> Self {
        let outliers = job.word("largest") + job.word("smallest");
        Self { place: job.place("out"), tokens: job.word("rows"), inner: job.word("columns"), outliers }
    }
}

/// Rows that become tokens.
pub fn quantize(rng: &mut StimulusRng, program: &mut Program, (operations, shape): Target<'_>) -> Draft {
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
    let mut one = operations.drawn(rng, program, "quantize");
    one.set("rows", rows).set("columns", columns).set("largest", largest).set("smallest", smallest);
    one.set("three_bits", rng.random::<bool>()).set("exact", often(rng, 8));
    one.operand("x", x).operand("out", out).set("codebook_address", codebook);
    one
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
fn midpoints(rng: &mut StimulusRng, program: &mut Program) -> u64 {
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
    address
}
