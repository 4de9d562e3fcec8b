use half::f16;
use proptest::prelude::*;

use super::device::{Delays, Device};
use super::*;
use crate::accelerators::descriptor::Descriptor;
use crate::accelerators::memory::{BusError, SparseMemory};
use crate::common::float::Function;
use crate::common::shell::job_controller::End;

mod fuzz;
mod registers;
mod rows;

/// 4 lanes, rows of up to 32 elements.
const SHAPE: Shape = Shape { lanes: 4, max_beats: 8, function: Function::Silu, address_width: 40, steps: STEP_BITS };
const LIMITS: Limits = Limits { base: 0x1000, limit: 0xffff, max_descriptors: 8 };

impl Descriptor {
    /// Three rows of 5 elements of x at 0x2000 to 0x3000; other operands are at 0x4000, 0x5000, 0x6000.
    fn new(steps: u32) -> Self {
        let mut new = Self::of(1);
        for (at, value) in [(32, 3), (36, 5), (40, steps), (44, 0x3c00_4000), (56, 64), (60, 64), (88, 64), (92, 64)] {
            new = new.word(at, value);
        }
        for (at, value) in [(64, 0x2000), (72, 0x4000), (80, 0x5000), (96, 0x6000), (104, 0x3000)] {
            new = new.long(at, value);
        }
        new
    }
}

fn top() -> &'static VectorTop {
    static TOP: std::sync::LazyLock<VectorTop> = std::sync::LazyLock::new(|| VectorTop::new(SHAPE));
    &TOP
}

fn memory(descriptors: &[(u64, Descriptor)]) -> SparseMemory {
    let mut memory = SparseMemory::new();
    for (at, descriptor) in descriptors {
        memory.store(*at, &descriptor.0);
    }
    // Small whole numbers everywhere: 1, 2, 3, ... in x, 8 in all others.
    for row in 0..3 {
        let numbers = |of: &dyn Fn(u64) -> f32| -> Vec<u8> {
            (0..5).flat_map(|k| f16::from_f32(of(k)).to_bits().to_le_bytes()).collect()
        };
        memory.store(0x2000 + 64 * row, &numbers(&|k| (5 * row + k + 1) as f32));
        for other in [0x4000, 0x5000, 0x6000] {
            memory.store(other + 64 * row, &numbers(&|_| 8.0));
        }
    }
    memory
}

/// The code with which the job of one descriptor ends. Only results may change.
fn code_of(descriptor: Descriptor) -> u8 {
    let mut memory = memory(&[(0x1000, descriptor)]);
    let before = memory.clone();
    let report = top().run(LIMITS, 0x1000, &mut memory);
    assert_eq!(report.end.place, if report.end.code == 0 { 0 } else { 0x1000 });
    if report.end.code != 0 {
        assert!(report.executed.is_empty() && report.written().is_empty());
        assert_eq!(memory.bytes(0, 0x10000), before.bytes(0, 0x10000));
    }
    report.end.code
}

/// Fields that the steps do not use may hold any value: the job ends with the same code and the same results.
#[test]
fn what_no_step_uses_has_no_say() {
    // Scale and quantizer, epsilon, the three operands with their strides.
    let fill = |mut one: Descriptor, steps: u32, word: u32| {
        let has = |bits: u32| steps & bits != 0;
        let [scale, quantizer] = [has(1), has(3 << 8)].map(|used| if used { 0 } else { word as u16 });
        let given = if has(1) { 0x4000 } else { 0 } | if has(3 << 8) { 0x3c00_0000 } else { 0 };
        one = one.word(44, given | u32::from(scale) | u32::from(quantizer) << 16);
        if !has(1 << 4) || steps >> 6 & 3 == 1 {
            one = one.long(48, u64::from(word));
        }
        for (used, address, stride) in
            [(has(2), 72, Some(60)), (has(8 | 1 << 10), 80, Some(88)), (has(1 << 5), 96, None)]
        {
            if !used {
                one = one.long(address, u64::from(word) << 20 | 3);
                if let Some(at) = stride {
                    one = one.word(at, word);
                }
            }
        }
        one
    };
    for (steps, length) in [
        (0, 0),
        (1, 0),
        (2, 0),
        (4, 0),
        (8, 0),
        (0x10, 0),
        (0x30, 0),
        (0x50, 4),
        (0x90, 0),
        (0xb0, 0),
        (0x100, 0),
        (0x200, 0),
    ] {
        let results = [0, 0x7e00_7e00, 0xffff_ffff, 0x7c00_fc00].map(|word| {
            let one = fill(Descriptor::new(steps).word(112, length), steps, word);
            let mut memory = memory(&[(0x1000, one)]);
            let report = top().run(LIMITS, 0x1000, &mut memory);
            assert_eq!(report.end.code, 0, "steps {steps:#x}, {word:#x}");
            memory.bytes(0x3000, 3 * 64)
        });
        assert!(results.iter().all(|bytes| *bytes == results[0]), "steps {steps:#x}");
    }
}

#[test]
fn a_job_by_hand() {
    // (2 x + 8) * 1 as int8, and a tag after it. Then the same as int4, which saturates.
    let first = Descriptor::new(0x103).tagged(77, 0x7000).next(0x1080);
    let second = Descriptor::new(0x203).long(104, 0x3800);
    let mut memory = memory(&[(0x1000, first), (0x1080, second)]);
    let report = top().run(LIMITS, 0x1000, &mut memory);
    assert_eq!(report.end, End { code: 0, place: 0, tag: 0, descriptors: 2 });
    assert_eq!(memory.bytes(0x3000, 6), [10, 12, 14, 16, 18, 0]);
    assert_eq!(memory.bytes(0x3080, 6), [30, 32, 34, 36, 38, 0]);
    assert_eq!(memory.bytes(0x7000, 5), [77, 0, 0, 0, 0]);
    assert_eq!(
        memory.bytes(0x3800, 4),
        [0x77, 0x77, 0x07, 0],
        "low nibble first, nothing in the last one's upper half"
    );
    assert_eq!(report.executed.iter().map(|e| e.overflows).collect::<Vec<_>>(), [0, 6]);
    assert_eq!(report.overflows(), 6);
    let rows = |from: u64, bytes: u64| (0..3).map(move |row| from + 64 * row..=from + 64 * row + bytes - 1);
    assert_eq!(report.written(), rows(0x3000, 5).chain(rows(0x3800, 3)).chain([0x7000..=0x7003]).collect::<Vec<_>>());
    assert_eq!(report.undefined(), []);
}

#[test]
fn one_row_for_all() {
    let descriptor = Descriptor::new(2).word(60, 0).long(72, 0x2000);
    let mut memory = memory(&[(0x1000, descriptor)]);
    assert_eq!(top().run(LIMITS, 0x1000, &mut memory).end.code, 0);
    let row: Vec<f32> = memory.bytes(0x3040, 10).chunks(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect();
    assert_eq!(row, [7.0, 9.0, 11.0, 13.0, 15.0], "6 + 1, 7 + 2, ...");
}

#[test]
fn reserved() {
    // Kind and causal belong to the norm.
    let mut unknown = vec![6, 7, 11];
    unknown.extend(13..32);
    for bit in unknown {
        assert_eq!(code_of(Descriptor::new(1 << bit)), code::RESERVED, "bit {bit}");
    }
    assert_eq!(code_of(Descriptor::new(1 << 5)), code::RESERVED, "a gain without a norm");
    assert_eq!(code_of(Descriptor::new(3 << 4).word(48, 1)), 0);
    for at in (53..56).chain(112..128) {
        assert_eq!(code_of(Descriptor::new(0).byte(at, 1)), code::RESERVED, "byte {at}");
    }
    assert_eq!(code_of(Descriptor::new(0).byte(52, 0xff)), 0);
}

#[test]
fn fields_and_sizes() {
    assert_eq!(code_of(Descriptor::new(0x300)), code::FIELD);
    for (bit, steps) in [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 48)] {
        let lacks = VectorTop::new(Shape { steps: STEP_BITS & !(1 << bit), ..SHAPE });
        let mut memory = memory(&[(0x1000, Descriptor::new(steps))]);
        assert_eq!(lacks.run(LIMITS, 0x1000, &mut memory).end.code, code::FIELD, "step {bit}");
    }
    for (rows, columns, expected) in [
        (0, 5, code::SIZE),
        (65_536, 5, code::SIZE),
        (u32::MAX, 5, code::SIZE),
        (3, 0, code::SIZE),
        (3, 33, code::SIZE),
        (3, u32::MAX, code::SIZE),
        (3, 32, 0),
        (1, 1, 0),
    ] {
        assert_eq!(code_of(Descriptor::new(0).word(32, rows).word(36, columns)), expected, "{rows} {columns}");
    }
    // All rows may be at the same address.
    assert_eq!(code_of(Descriptor::new(0).word(32, 65_535).word(36, 1).word(56, 0).word(92, 0)), 0);
}

/// All operands, in order: the steps that need it, the offset of its address, the offset of its stride.
const OPERANDS: [(u32, usize, Option<usize>); 5] =
    [(0, 64, Some(56)), (2, 72, Some(60)), (8, 80, Some(88)), (48, 96, None), (0, 104, Some(92))];

#[test]
fn alignment_and_window_of_each_operand() {
    for (steps, address, stride) in OPERANDS {
        let new = || Descriptor::new(steps).word(48, 1);
        let with = |to: u64| code_of(new().long(address, to));
        for low in [1, 2, 16, 32, 63] {
            assert_eq!(with(0x2000 + low), code::ALIGNMENT, "operand at {address}");
        }
        assert_eq!(with(0xfc0), code::WINDOW);
        assert_eq!(with(0x1_0000), code::WINDOW);
        assert_eq!(with(0x1000_0000_0000), code::WINDOW);
        assert_eq!(with(u64::MAX - 63), code::WINDOW);
        // The last address that still fits; gains have one row.
        let last = if stride.is_some() { 0xff40 } else { 0xffc0 };
        assert_eq!((with(last), with(last + 64)), (0, code::WINDOW));
        let Some(stride) = stride else { continue };
        assert_eq!(code_of(new().word(stride, 32)), code::ALIGNMENT);
        assert_eq!(code_of(new().word(stride, 0xffff_ffc0)), code::WINDOW);
        assert_eq!(code_of(new().word(stride, 0xffff_ffff)), code::ALIGNMENT, "both are wrong");
    }
}

/// Each fault together with all faults that later checks find: the first check counts.
#[test]
fn checks_in_their_order() {
    type Fault = (u8, fn(Descriptor) -> Descriptor);
    let faults: [Fault; 17] = [
        (code::MAGIC, |d| d.byte(0, 0)),
        (code::VERSION, |d| d.byte(4, 2)),
        (code::OPCODE, |d| d.byte(5, 2)),
        (code::RESERVED, |d| d.byte(7, 1)),
        (code::TAG, |d| d.byte(6, 1).long(24, 4)),
        (code::RESERVED, |d| d.byte(127, 1)),
        (code::FIELD, |d| d.byte(41, 3)),
        (code::SIZE, |d| d.word(36, 40)),
        (code::ALIGNMENT, |d| d.word(56, 32)),
        (code::WINDOW, |d| d.long(64, 0)),
        (code::ALIGNMENT, |d| d.word(60, 32)),
        (code::WINDOW, |d| d.long(72, 0)),
        (code::ALIGNMENT, |d| d.word(88, 32)),
        (code::WINDOW, |d| d.long(80, 0)),
        (code::ALIGNMENT, |d| d.long(96, 1)),
        (code::ALIGNMENT, |d| d.word(92, 32)),
        (code::WINDOW, |d| d.long(104, 0)),
    ];
    for first in 0..faults.len() {
        let all = faults[first..].iter().rev().fold(Descriptor::new(0x3f), |d, (_, fault)| fault(d));
        assert_eq!(code_of(all), faults[first].0, "fault {first}");
    }
}

#[test]
fn the_bus_has_fewer_addresses_than_the_window() {
    let top = VectorTop::new(Shape { address_width: 16, ..SHAPE });
    let limits = Limits { limit: u64::MAX, ..LIMITS };
    let end = |at: u64, descriptor: Descriptor| {
        let mut memory = memory(&[(at, descriptor)]);
        top.run(limits, at, &mut memory).end.code
    };
    assert_eq!(end(0x1000, Descriptor::new(0).long(104, 0xff40)), 0);
    assert_eq!(end(0x1000, Descriptor::new(0).long(104, 0xff80)), code::WINDOW);
    assert_eq!(end(0x1_0000, Descriptor::new(0)), code::DESCRIPTOR);
    assert_eq!(end(0xff80, Descriptor::new(0)), 0);
    assert_eq!(end(0xffc0, Descriptor::new(0)), code::DESCRIPTOR, "its second half has no address");
}

#[test]
fn chains() {
    let looped = |max_descriptors| {
        let chain = [
            (0x1000, Descriptor::new(0).word(16, 5).next(0x1080)),
            (0x1080, Descriptor::new(0).word(16, 6).next(0x1000)),
        ];
        let mut memory = memory(&chain);
        top().run(Limits { max_descriptors, ..LIMITS }, 0x1000, &mut memory).end
    };
    assert_eq!(looped(0), End { code: code::CHAIN, place: 0x1000, tag: 0, descriptors: 0 });
    assert_eq!(looped(1), End { code: code::CHAIN, place: 0x1080, tag: 5, descriptors: 1 });
    assert_eq!(looped(6), End { code: code::CHAIN, place: 0x1000, tag: 6, descriptors: 6 });
    // The error is in the second descriptor. The first has done its work.
    let mut memory =
        memory(&[(0x1000, Descriptor::new(0x100).word(16, 9).next(0x1080)), (0x1080, Descriptor::new(0x300))]);
    let report = top().run(LIMITS, 0x1000, &mut memory);
    assert_eq!(report.end, End { code: code::FIELD, place: 0x1080, tag: 9, descriptors: 1 });
    assert_eq!(memory.bytes(0x3000, 3), [1, 2, 3]);
}

#[test]
fn errors_of_the_bus() {
    for (place, steps) in [(0x2044, 0), (0x4044, 2), (0x5044, 8), (0x6004, 48), (0x3041, 0)] {
        for (error, expected) in [(BusError::Subordinate, code::SLVERR), (BusError::Decode, code::DECERR)] {
            let mut memory = memory(&[(0x1000, Descriptor::new(steps).word(48, 1))]);
            memory.fail(place..=place, error);
            let report = top().run(LIMITS, 0x1000, &mut memory);
            assert_eq!(
                (report.end.code, report.end.place, report.end.descriptors),
                (expected, 0x1000, 0),
                "{place:#x}"
            );
            assert_eq!((report.executed[0].codes.clone(), report.executed[0].defined), (vec![expected], false));
            assert_eq!(report.undefined(), [0x3000..=0x3009, 0x3040..=0x3049, 0x3080..=0x3089]);
        }
    }
    // Several errors: the first row has the error that counts here, and the model lists all.
    let mut memory = memory(&[(0x1000, Descriptor::new(0).word(16, 3).tagged(1, 0x7000))]);
    memory.fail(0x2080..=0x2080, BusError::Decode);
    memory.fail(0x3040..=0x3040, BusError::Subordinate);
    let report = top().run(LIMITS, 0x1000, &mut memory);
    assert_eq!((report.end.code, report.executed[0].codes.clone()), (code::SLVERR, vec![code::SLVERR, code::DECERR]));
    assert_eq!(memory.bytes(0x7000, 1), [0], "no tag");
    // An error of a descriptor, and an error of a tag.
    memory.mend();
    memory.fail(0x7000..=0x7000, BusError::Decode);
    assert_eq!(
        top().run(LIMITS, 0x1000, &mut memory).end,
        End { code: code::DECERR, place: 0x1000, tag: 0, descriptors: 0 }
    );
    memory.fail(0x107f..=0x107f, BusError::Subordinate);
    assert_eq!(top().run(LIMITS, 0x1000, &mut memory).end.code, code::SLVERR);
}

#[test]
fn exact_results() {
    // 15 * 16 is more than 127. Half of it is not.
    for (steps, quantizer, expected) in [(0x1100, 0x4c00, code::OVERFLOW), (0x100, 0x4c00, 0), (0x1100, 0x3800, 0)] {
        let mut memory = memory(&[(0x1000, Descriptor::new(steps).word(44, quantizer << 16))]);
        let report = top().run(LIMITS, 0x1000, &mut memory);
        assert_eq!(
            (report.end.code, report.executed[0].defined),
            (expected, expected == 0),
            "{steps:#x} {quantizer:#x}"
        );
        assert_eq!(report.executed[0].overflows, if quantizer == 0x4c00 { 4 } else { 0 }, "6 to 9 | 10; 11 to 14 | 15");
    }
}

/// The hardware may report an overflow in data read before an error of the bus instead of the error. A later overflow
/// it may not.
#[test]
fn overflows_ahead_of_an_error() {
    let long = VectorTop::new(Shape { max_beats: 64, ..SHAPE });
    let both = vec![code::DECERR, code::OVERFLOW];
    for (fails, element, codes) in
        [(0x2040, 3, both), (0x2040, 35, vec![code::DECERR]), (0x2000, 35, vec![code::DECERR])]
    {
        let row = Descriptor::new(0x1100).word(32, 1).word(36, 40).word(44, 0x4c00 << 16);
        let mut memory = SparseMemory::new();
        memory.store(0x1000, &row.0);
        memory.store(0x2000 + 2 * element, &f16::from_f32(15.0).to_bits().to_le_bytes());
        memory.fail(fails..=fails, BusError::Decode);
        let report = long.run(LIMITS, 0x1000, &mut memory);
        assert_eq!((&report.executed[0].codes, report.executed[0].overflows), (&codes, 0), "{fails:#x} {element}");
    }
}

#[test]
fn in_place_or_not() {
    let defined = |descriptor: Descriptor| {
        let mut memory = memory(&[(0x1000, descriptor)]);
        let report = top().run(LIMITS, 0x1000, &mut memory);
        assert_eq!(report.end.code, 0);
        report.executed[0].defined
    };
    let on_x = |steps| Descriptor::new(steps).long(104, 0x2000);
    assert!(defined(on_x(0)));
    assert!(!defined(on_x(0x100)), "not fp16");
    assert!(!defined(on_x(0).word(92, 128)), "another stride");
    assert!(!defined(on_x(0).word(56, 0).word(92, 0)), "one row, three times");
    assert!(defined(on_x(0).word(32, 1).word(56, 0).word(92, 0)), "one row, once");
    assert!(!defined(on_x(2).long(72, 0x2000)), "the addends are there too");
    assert!(!defined(on_x(0).long(104, 0x2040)), "one row further");
    assert!(defined(Descriptor::new(0).word(56, 128).word(92, 128).long(104, 0x2040)), "between the rows");
}

/// An operation that reads results while they are written has no certain end, nor do operations that use its results.
#[test]
fn ends_that_are_not_certain() {
    let run = |chain: &[(u64, Descriptor)]| {
        let report = top().run(LIMITS, 0x1000, &mut memory(chain));
        let defined: Vec<bool> = report.executed.iter().map(|e| e.defined).collect();
        (report.is_certain(), defined)
    };
    let further = |steps| Descriptor::new(steps).long(104, 0x2040);
    assert_eq!(run(&[(0x1000, further(0))]), (true, vec![false]), "it ends well, whatever comes out");
    assert_eq!(run(&[(0x1000, further(0x1000))]), (false, vec![false]), "exact");
    let next = || further(0).next(0x1080);
    assert_eq!(run(&[(0x1000, next()), (0x1080, Descriptor::new(0).long(64, 0x2080))]), (false, vec![false; 2]));
    assert_eq!(run(&[(0x1000, next()), (0x1080, Descriptor::new(0).long(64, 0x4000))]), (true, vec![false, true]));
    // The second descriptor lies in the results of the first one.
    let over = Descriptor::new(0).next(0x2080).long(104, 0x2040);
    assert!(!run(&[(0x1000, over), (0x2080, Descriptor::new(0))]).0);
}
