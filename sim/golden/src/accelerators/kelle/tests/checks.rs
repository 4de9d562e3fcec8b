//! Every check, and their order.

use super::*;
use crate::accelerators::job::Accelerator as _;

fn memory(descriptor: &Descriptor) -> SparseMemory {
    attention_memory(descriptor)
}

/// The code with which the job of one descriptor ends, on an accelerator whose head 1 has two tokens. A refused
/// operation touches nothing.
fn code_on(top: &KelleTop, descriptor: &Descriptor) -> u8 {
    run(top, &mut memory(&Descriptor::attention()));
    let mut memory = memory(descriptor);
    let before = (memory.bytes(0, 0x1_0000), top.head(1));
    let report = run(top, &mut memory);
    assert_eq!(report.end.place, if report.end.code == 0 { 0 } else { 0x1000 });
    if report.end.code != 0 {
        assert!(report.executed.is_empty() && report.written().is_empty());
        assert_eq!((memory.bytes(0, 0x1_0000), top.head(1)), before);
    }
    report.end.code
}

fn code_of(descriptor: Descriptor) -> u8 {
    code_on(&top(), &descriptor)
}

/// The code of the checks alone, with two tokens in head 1.
fn checked(descriptor: Descriptor) -> u8 {
    let top = top();
    run(&top, &mut memory(&Descriptor::attention()));
    let words: Vec<u32> = descriptor.0[32..].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    top.check(descriptor.0[5], Fields(&words), &LIMITS).err().unwrap_or(0)
}

#[test]
fn reserved() {
    for bit in 0..32 {
        let expected = if bit == 12 { 0 } else { code::RESERVED };
        assert_eq!(checked(Descriptor::linear().word(44, 1 << bit)), expected, "bit {bit}");
        let expected = if bit == 1 { 0 } else { expected };
        assert_eq!(checked(Descriptor::attention().word(48, 1 << bit)), expected, "bit {bit} of attention");
    }
    for (good, zeros) in [
        (Descriptor::linear(), [96..128, 0..0]),
        (Descriptor::attention(), [59..60, 0..0]),
        (Descriptor::clear(0, 1), [40..128, 0..0]),
        (Descriptor::refresh(), [52..128, 0..0]),
        (Descriptor::save(0, 1), [52..56, 64..128]),
        (Descriptor::restore(2, 0, 1), [52..56, 64..128]),
    ] {
        assert_eq!(code_of(good.clone()), 0, "{good:?}");
        for at in zeros.into_iter().flatten() {
            assert_eq!(code_of(good.clone().byte(at, 0x80)), code::RESERVED, "byte {at} of {}", good.0[5]);
        }
    }
}

#[test]
fn operations_there_are() {
    for (opcode, expected) in [(0, code::OPCODE), (8, code::OPCODE)] {
        assert_eq!(code_of(Descriptor::linear().byte(5, opcode)), expected, "{opcode}");
    }
    for operation in [Descriptor::save(0, 1), Descriptor::restore(1, 2, 1)] {
        assert_eq!(code_on(&top_of(Shape { save: false, ..SHAPE }), &operation), code::FIELD);
    }
    // `vector_top` has its own tests of the vector operation.
    let vector = Descriptor::of(3).words(&[(32, 1), (36, 4), (56, 64), (92, 64)]);
    let vector = vector.longs(&[(64, 0x7000), (104, 0x6000)]);
    assert_eq!(code_of(vector.clone()), 0);
    assert_eq!(code_of(vector.word(36, 33)), code::SIZE);
}

#[test]
fn sizes() {
    for (at, most) in [(32, 4), (36, 65_535), (40, 24)] {
        let with = |value| {
            let few = Descriptor::linear().words(&[(32, 1), (36, 1), (52, 0), (56, 0), (60, 0)]);
            checked(few.word(at, value))
        };
        let fits = if at == 36 { code::WINDOW } else { 0 };
        assert_eq!([0, 1, most, most + 1, u32::MAX].map(with), [9, 0, fits, 9, 9], "size at {at}");
    }
    let with =
        |at, value| checked(Descriptor::attention().words(&[(80, 0), (84, 0), (88, 0), (92, 0)]).word(at, value));
    assert_eq!([0, 2, 3, u32::MAX].map(|head| with(32, head)), [0, 0, 9, 9]);
    assert_eq!([0, 1, 65_535, 65_536, u32::MAX].map(|tokens| with(36, tokens)), [9, 0, 0, 9, 9]);
    assert_eq!([0, 1, 2, 3, u32::MAX].map(|group| with(40, group)), [9, 0, 0, 9, 9]);
    assert_eq!([0, 2, 4, 6, 8, 12].map(|elements| with(44, elements)), [9, 9, 0, 9, 0, 9]);
    let budget = |budget: u32, sink: u32, window: u32| {
        checked(Descriptor::attention().words(&[(52, budget | sink << 16), (56, window)]))
    };
    assert_eq!([budget(0, 0, 0), budget(1, 0, 0), budget(5, 2, 2), budget(6, 0, 0)], [9, 0, 0, 9]);
    assert_eq!([budget(5, 2, 3), budget(5, 5, 0), budget(5, 0, 5), budget(5, 0xffff, 0xffff)], [9; 4]);
    assert_eq!([47, 48, 255].map(|shift| with(56, shift << 16)), [0, 9, 9]);
    let clear = |first, heads| checked(Descriptor::clear(first, heads));
    assert_eq!([clear(0, 3), clear(2, 1), clear(0, 0), clear(3, 1), clear(0, 4)], [0, 0, 9, 9, 9]);
    assert_eq!([clear(u32::MAX, 2), clear(1, u32::MAX)], [9; 2]);
    let refresh = |at, value| checked(Descriptor::refresh().word(at, value));
    assert_eq!([0, 255, 256, u32::MAX].map(|threshold| refresh(32, threshold)), [0, 0, 9, 9]);
    for at in [36, 40, 44, 48] {
        assert_eq!([0, 35, 36, 4095, 4096, u32::MAX].map(|interval| refresh(at, interval)), [9, 9, 0, 0, 9, 9]);
    }
    let save = |first, tokens| checked(Descriptor::save(first, tokens));
    assert_eq!([save(0, 2), save(1, 1), save(0, 0), save(0, 3), save(2, 1), save(u32::MAX, 1)], [0, 0, 9, 9, 9, 9]);
    assert_eq!([0, 3, u32::MAX].map(|head| checked(Descriptor::save(0, 1).word(32, head))), [9; 3]);
    assert_eq!([0, 4, 5, 8, 12].map(|elements| checked(Descriptor::save(0, 1).word(44, elements))), [9, 0, 9, 0, 9]);
}

/// The head must have as many tokens as the descriptor says, and has room for the others.
#[test]
fn sizes_of_what_comes_back() {
    let with = |head, first, tokens| checked(Descriptor::restore(head, first, tokens));
    assert_eq!([with(1, 2, 1), with(1, 2, 3), with(1, 2, 4), with(1, 2, 0), with(1, 2, u32::MAX)], [0, 0, 9, 9, 9]);
    assert_eq!([with(1, 0, 1), with(1, 1, 1), with(1, 3, 1), with(1, u32::MAX, 3)], [9; 4]);
    assert_eq!([with(0, 0, 5), with(0, 0, 6), with(3, 0, 1), with(u32::MAX, 0, 1)], [0, 9, 9, 9]);
    let elements = |elements| checked(Descriptor::restore(1, 2, 1).word(44, elements));
    assert_eq!([0, 4, 5, 8, 12].map(elements), [9, 0, 9, 0, 9]);
}

/// An operand, in the order of the checks: the offset of its address, the offset of its stride, and the bytes from its
/// first to its last byte.
type Place = (usize, Option<usize>, u64);

#[test]
fn alignment_and_window_of_each_operand() {
    let linear: Vec<Place> = vec![(64, Some(52), 70), (72, None, 96), (80, None, 48), (88, Some(60), 76)];
    let attention = vec![(96, Some(80), 80), (104, Some(84), 72), (112, Some(88), 72), (120, Some(92), 80)];
    let save = vec![(56, Some(48), 208)];
    for (good, places) in [
        (Descriptor::linear(), linear),
        (Descriptor::attention(), attention),
        (Descriptor::save(0, 2), save.clone()),
        (Descriptor::restore(1, 2, 2), save),
    ] {
        for (address, stride, bytes) in places {
            let with = |to: u64| checked(good.clone().long(address, to));
            for low in [1, 2, 16, 32, 63] {
                assert_eq!(with(0x8000 + low), code::ALIGNMENT, "operand at {address}");
            }
            for outside in [0, 0xfc0, 0x1_0000, 0x1000_0000_0000, u64::MAX - 63] {
                assert_eq!(with(outside), code::WINDOW, "operand at {address}");
            }
            // The last place where it fits, and the next place.
            let last = (0x1_0000 - bytes) / 64 * 64;
            assert_eq!((with(last), with(last + 64)), (0, code::WINDOW), "operand at {address}");
            let Some(stride) = stride else { continue };
            assert_eq!(checked(good.clone().word(stride, 32)), code::ALIGNMENT);
            assert_eq!(checked(good.clone().word(stride, 0xffff_ffc0)), code::WINDOW);
            assert_eq!(checked(good.clone().word(stride, u32::MAX)), code::ALIGNMENT, "both are wrong");
        }
    }
    // Panels: one of 6 columns, two of 33.
    let panels = |columns, stride| checked(Descriptor::linear().words(&[(36, columns), (56, stride)]));
    assert_eq!([panels(6, 0xffff_ffc0), panels(33, 0xc000), panels(33, 0xcfc0)], [0, 0, code::WINDOW]);
    assert_eq!(panels(6, 32), code::ALIGNMENT);
}

type Fault = (u8, fn(Descriptor) -> Descriptor);

/// Each fault together with all faults that later checks find: the first check counts.
fn in_order(good: &Descriptor, faults: &[Fault]) {
    assert_eq!(code_of(good.clone()), 0);
    for first in 0..faults.len() {
        let all = faults[first..].iter().rev().fold(good.clone(), |d, (_, fault)| fault(d));
        assert_eq!(code_of(all), faults[first].0, "fault {first}");
    }
}

#[test]
fn checks_in_their_order() {
    let linear: [Fault; 11] = [
        (code::TAG, |d| d.byte(6, 1).long(24, 4)),
        (code::RESERVED, |d| d.byte(127, 1)),
        (code::SIZE, |d| d.word(40, 25)),
        (code::ALIGNMENT, |d| d.word(52, 32)),
        (code::WINDOW, |d| d.word(52, 0xffc0)),
        (code::ALIGNMENT, |d| d.long(72, 1)),
        (code::WINDOW, |d| d.long(72, 0x1_0000)),
        (code::ALIGNMENT, |d| d.long(80, 1)),
        (code::WINDOW, |d| d.long(80, 0)),
        (code::ALIGNMENT, |d| d.word(60, 8)),
        (code::WINDOW, |d| d.word(60, 0xffc0)),
    ];
    in_order(&Descriptor::linear(), &linear);
    let attention: [Fault; 10] = [
        (code::RESERVED, |d| d.byte(59, 1)),
        (code::SIZE, |d| d.word(44, 5)),
        (code::ALIGNMENT, |d| d.word(80, 1)),
        (code::WINDOW, |d| d.word(80, 0xffc0)),
        (code::ALIGNMENT, |d| d.word(84, 1)),
        (code::WINDOW, |d| d.long(104, 0xffc0)),
        (code::ALIGNMENT, |d| d.long(112, 1)),
        (code::WINDOW, |d| d.long(112, 0)),
        (code::ALIGNMENT, |d| d.word(92, 1)),
        (code::WINDOW, |d| d.long(120, 0xffc0)),
    ];
    in_order(&Descriptor::attention(), &attention);
    let save: [Fault; 4] = [
        (code::RESERVED, |d| d.byte(127, 1)),
        (code::SIZE, |d| d.word(36, 1)),
        (code::ALIGNMENT, |d| d.word(48, 32)),
        (code::WINDOW, |d| d.long(56, 0xff80)),
    ];
    in_order(&Descriptor::save(0, 2), &save);
    in_order(&Descriptor::restore(1, 2, 2), &save);
    in_order(&Descriptor::clear(0, 1), &[(code::RESERVED, |d| d.byte(127, 1)), (code::SIZE, |d| d.word(36, 9))]);
    in_order(&Descriptor::refresh(), &[(code::RESERVED, |d| d.byte(127, 1)), (code::SIZE, |d| d.word(36, 9))]);
}

/// The content of a head is checked when it is the descriptor's turn.
#[test]
fn tokens_of_the_chain_count() {
    let chain = |tokens| {
        let mut memory = memory(&Descriptor::attention().next(0x1080));
        memory.store(0x1080, &Descriptor::save(0, tokens).0);
        run(&top(), &mut memory).end
    };
    assert_eq!((chain(2).code, chain(3)), (0, End { code: code::SIZE, place: 0x1080, tag: 0, descriptors: 1 }));
}
