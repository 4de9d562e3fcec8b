use super::*;
use crate::accelerators::descriptor::Descriptor;
use crate::accelerators::memory::{BusError, SparseMemory};
use crate::common::float::Function;
use crate::common::shell::job_controller::code;

mod cache;
mod checks;
mod damage;
mod fuzz;
mod kept;
mod products;
mod traffic;

/// 2 x 2 macros of 4 inputs and 4 outputs, tokens of 2 tiles of 2 channels.
pub const SHAPE: Shape = Shape {
    rows: 2,
    columns: 2,
    inputs: 4,
    outputs: 4,
    constants: 16,
    lanes: 2,
    tiles: 2,
    levels: 3,
    context: 6,
    buffer: 4,
    links: false,
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
/// Areas of keys and of values: up to 10 blocks.
const AREAS: [u64; 2] = [0x4000, 0x5000];
const LINES: u32 = 10;
/// Rows of keys and of values.
const ROWS: [u64; 2] = [0x2000, 0x3000];

/// A matrix of 5 inputs and 6 outputs from 0x2000, at row of macros 0 and column of macros 0.
fn load() -> Descriptor {
    Descriptor::of(1).words(&[(32, 5), (36, 6), (52, 64)]).long(64, 0x2000)
}

/// 6 constants from 0x2800 on.
fn constants() -> Descriptor {
    Descriptor::of(1).words(&[(32, 1), (36, 6), (44, 1)]).long(64, 0x2800)
}

/// 2 rows of 5 elements from 0x3000 times this matrix, to fp16 at 0x6000.
fn product() -> Descriptor {
    let words = [(32, 2), (36, 5), (40, 6), (52, 64), (56, 64)];
    Descriptor::of(2).words(&words).longs(&[(64, 0x3000), (72, 0x6000)])
}

/// Appends so many tokens of 4 channels after `position` others; thresholds 2 and 3, widths 3 and 2.
fn append(tokens: u32, position: u32) -> Descriptor {
    let begin = if position == 0 { 0x0203_0302 } else { 0 };
    let words = [(32, tokens), (36, 4), (40, position), (48, LINES << 16), (52, begin), (56, 64), (60, 64)];
    let [keys, values] = ROWS.map(|rows| rows + 64 * u64::from(position));
    Descriptor::of(4).words(&words).longs(&[(64, keys), (72, values), (80, AREAS[0]), (88, AREAS[1])])
}

/// Restores so many tokens to the context.
fn restore(tokens: u32) -> Descriptor {
    let words = [(32, tokens), (36, 4), (48, LINES << 16)];
    Descriptor::of(5).words(&words).longs(&[(80, AREAS[0]), (88, AREAS[1])])
}

/// Restores so many tokens to rows at 0x6000 and 0x7000.
fn restore_rows(tokens: u32) -> Descriptor {
    restore(tokens).words(&[(44, 1), (56, 64), (60, 64)]).longs(&[(64, 0x6000), (72, 0x7000)])
}

/// A core of a shape, after reset.
pub fn core_of(shape: Shape) -> TitanusCore {
    // Tables of functions take longer to make than a test.
    thread_local!(static CORE: TitanusCore = TitanusCore::new(SHAPE).unwrap());
    let vector = CORE.with(|core| core.vector.clone());
    TitanusCore { shape, vector, overlaps: false, state: RefCell::new(State::new(&shape)) }
}

fn core() -> TitanusCore {
    core_of(SHAPE)
}

/// Runs a chain.
fn run(core: &TitanusCore, memory: &mut SparseMemory, chain: &[Descriptor]) -> Report {
    for (k, descriptor) in (0..).zip(chain) {
        let next = if k + 1 < chain.len() as u64 { 0x1080 + 0x80 * k } else { 0 };
        memory.store(0x1000 + 0x80 * k, &descriptor.clone().next(next).0);
    }
    core.run(LIMITS, 0x1000, memory)
}

/// Puts rows of bytes 64 apart.
fn put_rows(memory: &mut SparseMemory, at: u64, rows: &[Vec<i8>]) {
    for (k, row) in (0..).zip(rows) {
        memory.store(at + 64 * k, &row.iter().map(|&x| x as u8).collect::<Vec<u8>>());
    }
}

fn rows_of(memory: &SparseMemory, at: u64, rows: usize, columns: usize) -> Vec<Vec<i8>> {
    let row = |k: u64| memory.bytes(at + 64 * k, columns).iter().map(|&byte| byte as i8).collect();
    (0..rows as u64).map(row).collect()
}

/// Six tokens of keys and of values; some channels open levels on the way.
fn tokens() -> [Vec<Vec<i8>>; 2] {
    let keys = [[9, 0, 5, -7], [9, 1, -5, 7], [40, -7, 5, 0], [-90, 3, 5, 1], [9, 127, 0, -128], [1, 2, 3, 4]];
    let values = [[2, 3, -3, 0], [10, 20, 30, 40], [-10, -20, -30, -40], [0, 0, 0, 0], [2, -2, 3, -3], [55, 1, 1, -55]];
    [keys, values].map(|side| side.map(Vec::from).to_vec())
}

/// The same tokens, again and again.
fn many_tokens(count: usize) -> [Vec<Vec<i8>>; 2] {
    tokens().map(|side| side.into_iter().cycle().take(count).collect())
}

/// 54 of these tokens in memory.
fn with_tokens() -> SparseMemory {
    let mut memory = SparseMemory::new();
    for (at, rows) in ROWS.into_iter().zip(many_tokens(54)) {
        put_rows(&mut memory, at, &rows);
    }
    memory
}

fn floats(memory: &SparseMemory, at: u64, count: usize) -> Vec<f64> {
    memory.bytes(at, 2 * count).chunks(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f64()).collect()
}

fn halves(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|&x| crate::kllm::fp16::half(x).to_le_bytes()).collect()
}

/// Constants: scale and bias of each.
fn records(records: &[(f32, i32)]) -> Vec<u8> {
    records.iter().flat_map(|(scale, bias)| [scale.to_le_bytes(), bias.to_le_bytes()].concat()).collect()
}
