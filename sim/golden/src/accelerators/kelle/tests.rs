use super::*;
use crate::accelerators::descriptor::Descriptor;
use crate::accelerators::memory::{BusError, SparseMemory};
use crate::common::float::Function;
use crate::common::shell::job_controller::{End, code};

mod aerp;
mod checks;
mod errors;
mod fuzz;
mod random;
mod recompute;
mod registers;
mod replay;
mod restore;
mod steps;

/// Panels of 32 columns in groups of 4; heads of up to 5 tokens after a step, vectors of up to 8 elements.
const SHAPE: Shape = Shape {
    rows: 4,
    columns: 4,
    tokens: 4,
    inner: 24,
    heads: 3,
    slots: 5,
    width: 8,
    group: 2,
    score_lanes: 4,
    score_bits: 8,
    amount_bits: 9,
    interval_bits: 12,
    cache_rows: 18,
    save: true,
    recompute: 0,
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
const ONE: u32 = 0x3f80_0000;

impl Descriptor {
    /// 2 rows of 3 channels from 0x2000, 6 columns in a panel at 0x3000, constants at 0x4000, results at 0x6000.
    fn linear() -> Self {
        let words = [(32, 2), (36, 6), (40, 3), (48, ONE), (52, 64), (56, 128), (60, 64)];
        Self::of(1).words(&words).longs(&[(64, 0x2000), (72, 0x3000), (80, 0x4000), (88, 0x6000)])
    }

    /// 2 tokens of head 1, of 4 elements, with 2 query heads. Queries are at 0x2000, keys at 0x3000, values at 0x4000,
    /// results at 0x6000. The budget is 3 tokens. The first token and the most recent old token stay.
    fn attention() -> Self {
        let words = [(32, 1), (36, 2), (40, 2), (44, 4), (52, 3 | 1 << 16), (56, 1)];
        let strides = [(80, 64), (84, 64), (88, 64), (92, 64)];
        Self::of(2)
            .words(&words)
            .words(&[(60, ONE), (64, ONE), (68, ONE), (72, ONE), (76, (2f32).powi(-15).to_bits())])
            .words(&strides)
            .longs(&[(96, 0x2000), (104, 0x3000), (112, 0x4000), (120, 0x6000)])
    }

    /// The tokens of head 1 from position `first` on, to 0x7000.
    fn save(first: u32, tokens: u32) -> Self {
        Self::of(6).words(&[(32, 1), (36, first), (40, tokens), (44, 4), (48, 128)]).long(56, 0x7000)
    }

    /// Tokens that come to `head`, which has `first` tokens, from 0x7000.
    fn restore(head: u32, first: u32, tokens: u32) -> Self {
        Self::of(7).words(&[(32, head), (36, first), (40, tokens), (44, 4), (48, 128)]).long(56, 0x7000)
    }

    fn clear(first: u32, heads: u32) -> Self {
        Self::of(4).words(&[(32, first), (36, heads)])
    }

    fn refresh() -> Self {
        Self::of(5).words(&[(32, 16), (36, 36), (40, 540), (44, 144), (48, 4095)])
    }
}

thread_local! {
    /// The tables take long to make.
    static TOP: KelleTop = KelleTop::new(SHAPE).unwrap();
}

fn top() -> KelleTop {
    TOP.with(KelleTop::clone)
}

/// An accelerator of another shape with the same vector unit.
fn top_of(shape: Shape) -> KelleTop {
    assert_eq!(shape.vector, SHAPE.vector);
    KelleTop { shape, cache: RefCell::new(Cache::new(&shape)), ..top() }
}

fn halves(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|&x| crate::kllm::fp16::half(x).to_le_bytes()).collect()
}

fn floats(memory: &SparseMemory, at: u64, count: usize) -> Vec<f64> {
    memory.bytes(at, 2 * count).chunks(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f64()).collect()
}

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// x is 1, 2, 3 and -0.5, 1.5, 100; column c of the weights is c - 2 times 1, 2, 3; scale 0.5 and bias c.
fn linear_memory(descriptor: &Descriptor) -> SparseMemory {
    let mut memory = SparseMemory::new();
    memory.store(0x1000, &descriptor.0);
    memory.store(0x2000, &halves(&[1.0, 2.0, 3.0]));
    memory.store(0x2040, &halves(&[-0.5, 1.5, 100.0]));
    // Groups of 4 columns, channel after channel. The second group has two columns in use.
    for column in 0..6u64 {
        for channel in 0..3u64 {
            let weight = (column as i8 - 2) * (channel as i8 + 1);
            memory.store(0x3000 + (column / 4 * 3 + channel) * 4 + column % 4, &[weight as u8]);
        }
    }
    let constants: Vec<f32> = (0..6u8).flat_map(|c| [0.5, c.into()]).collect();
    memory.store(0x4000, &singles(&constants));
    memory
}

/// Two tokens whose keys are orthogonal. Queries of the first query head match the first token, and queries of the
/// second head match the second token, with products of 20.
fn attention_memory(descriptor: &Descriptor) -> SparseMemory {
    let mut memory = SparseMemory::new();
    memory.store(0x1000, &descriptor.0);
    for (row, first) in [(0, true), (1, false)] {
        memory.store(0x2000 + 64 * row, &halves(&[10.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0, 0.0]));
        let key = if first { [2.0, 0.0, 0.0, 0.0] } else { [0.0, 2.0, 0.0, 0.0] };
        memory.store(0x3000 + 64 * row, &halves(&key));
        let value = if first { [1.0, -2.0, 3.0, 1000.0] } else { [5.0, 6.0, -7.0, -1000.0] };
        memory.store(0x4000 + 64 * row, &halves(&value));
    }
    memory
}

fn run(top: &KelleTop, memory: &mut SparseMemory) -> Report {
    top.run(LIMITS, 0x1000, memory)
}

#[test]
fn a_product_by_hand() {
    let mut memory = linear_memory(&Descriptor::linear());
    let report = run(&top(), &mut memory);
    assert_eq!(report.end, End { code: 0, place: 0, tag: 0, descriptors: 1 });
    // 14 (c - 2) / 2 + c; -0.5 becomes 0 and 1.5 becomes 2: 304 (c - 2) / 2 + c.
    let expected = |sum: f64| (0..6).map(|c| sum * (f64::from(c) - 2.0) / 2.0 + f64::from(c)).collect::<Vec<_>>();
    assert_eq!(floats(&memory, 0x6000, 6), expected(14.0));
    assert_eq!(floats(&memory, 0x6040, 6), expected(304.0));
    assert_eq!(report.written(), [0x6000..=0x600b, 0x6040..=0x604b]);
    assert_eq!((report.overflows(), report.counts()), (0, Counts::default()));
    // A finer quantizer.
    let mut memory = linear_memory(&Descriptor::linear().word(48, 2f32.to_bits()));
    run(&top(), &mut memory);
    assert_eq!(floats(&memory, 0x6040, 6), expected(605.0));
}

#[test]
fn attention_by_hand() {
    let mut memory = attention_memory(&Descriptor::attention());
    let top = top();
    let report = run(&top, &mut memory);
    assert_eq!(report.end, End { code: 0, place: 0, tag: 0, descriptors: 1 });
    // The first token sees itself alone.
    assert_eq!(floats(&memory, 0x6000, 8), [1.0, -2.0, 3.0, 1000.0, 1.0, -2.0, 3.0, 1000.0]);
    // e^-20 is below half of 2^-15.
    assert_eq!(floats(&memory, 0x6040, 8), [1.0, -2.0, 3.0, 1000.0, 5.0, 6.0, -7.0, -1000.0]);
    assert_eq!(report.written(), [0x6000..=0x600f, 0x6040..=0x604f]);
    let head = top.head(1);
    assert_eq!(head.tokens.len(), 2);
    assert_eq!(head.tokens[0].key, [2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(head.tokens[1].value, [5, 6, -7, -1000, 0, 0, 0, 0]);
    // The queries of the second token with the first key: 20 and 0.
    assert_eq!([head.tokens[0].score, head.tokens[1].score], [20, 0]);
    assert_eq!((top.head(0), report.counts()), (Head::default(), Counts::default()));
}

/// Equal scores: all tokens have an equal part.
#[test]
fn attention_is_a_mean() {
    let descriptor = Descriptor::attention().word(72, 0);
    let mut memory = attention_memory(&descriptor);
    run(&top(), &mut memory);
    assert_eq!(floats(&memory, 0x6040, 4), [3.0, 2.0, -2.0, 0.0]);
}

/// Figure 6 of the paper: four places. The fifth token arrives, and the third has the least importance.
#[test]
fn figure_6() {
    let top = top();
    let descriptor = Descriptor::attention().words(&[(36, 1), (40, 1), (52, 4), (56, 0)]);
    let mut memory = attention_memory(&descriptor);
    for (token, key) in [9.0, 7.0, 2.0, 8.0, 4.0].into_iter().enumerate() {
        memory.store(0x3000, &halves(&[key, 0.0, 0.0, token as f64]));
        // Only the fifth query is not 0.
        memory.store(0x2000, &halves(&[if token == 4 { 1.0 } else { 0.0 }, 0.0, 0.0, 0.0]));
        let report = run(&top, &mut memory);
        assert_eq!((report.end.code, report.counts().evictions), (0, u64::from(token == 4)));
    }
    let tokens: Vec<(i64, i64)> = top.head(1).tokens.iter().map(|t| (t.key[3], t.score)).collect();
    assert_eq!(tokens, [(0, 9), (1, 7), (3, 8), (4, 0)]);
}

#[test]
fn saved_tokens() {
    let top = top();
    let descriptor = Descriptor::attention().next(0x1080);
    let mut memory = attention_memory(&descriptor);
    memory.store(0x1080, &Descriptor::save(0, 2).0);
    let report = run(&top, &mut memory);
    assert_eq!((report.end.code, report.end.descriptors), (0, 2));
    let row = |score: u8, key: [i16; 4], value: [i16; 4]| {
        let mut bytes = vec![0; 64];
        bytes[0] = score;
        bytes.extend(key.into_iter().chain(value).flat_map(i16::to_le_bytes));
        bytes
    };
    assert_eq!(memory.bytes(0x7000, 80), row(20, [2, 0, 0, 0], [1, -2, 3, 1000]));
    assert_eq!(memory.bytes(0x7080, 80), row(0, [0, 2, 0, 0], [5, 6, -7, -1000]));
    memory.store(0x1000, &Descriptor::save(1, 1).0);
    assert_eq!(run(&top, &mut memory).end.code, 0);
    assert_eq!(memory.bytes(0x7000, 80), row(0, [0, 2, 0, 0], [5, 6, -7, -1000]));
}

#[test]
fn heads_are_emptied() {
    let top = top();
    let mut memory = attention_memory(&Descriptor::attention());
    run(&top, &mut memory);
    let cleared = |first, heads| {
        let mut memory = attention_memory(&Descriptor::clear(first, heads));
        assert_eq!(run(&top, &mut memory).end.code, 0);
        top.head(1).tokens.len()
    };
    assert_eq!([cleared(0, 1), cleared(2, 1), cleared(0, 3)], [2, 2, 0]);
    run(&top, &mut memory);
    let other = top.clone();
    top.soft_reset();
    assert_eq!((top.head(1).tokens.len(), other.head(1).tokens.len()), (0, 2));
}

#[test]
fn refresh_is_kept() {
    let top = top();
    assert_eq!(top.refresh(), None);
    let mut memory = attention_memory(&Descriptor::refresh());
    assert_eq!(run(&top, &mut memory).end.code, 0);
    let refresh = Refresh { threshold: 16, high: [36, 540], low: [144, 4095] };
    top.soft_reset();
    assert_eq!(top.refresh(), Some(refresh));
}

#[test]
fn shapes_that_cannot_be() {
    let said = |shape: Shape| KelleTop::new(shape).unwrap_err();
    assert_eq!(said(Shape { heads: 0, ..SHAPE }), "heads is 0, allowed: 1 to 65535");
    assert_eq!(said(Shape { columns: 6, ..SHAPE }), "columns is 6, allowed: powers of two");
    assert_eq!(said(Shape { width: 10, ..SHAPE }), "width is 10, allowed: multiples of columns, 4");
    assert_eq!(said(Shape { score_bits: 33, ..SHAPE }), "score_bits is 33, allowed: 1 to 32");
    // Six elements in two beats of 4, and in beats of one.
    assert_eq!((SHAPE.places(), Shape { score_lanes: 1, ..SHAPE }.places(), SHAPE.panel()), (20, 19, 32));
}
