//! Every check, and their order.

use super::*;
use crate::accelerators::job::Accelerator as _;

/// The code with which the job of one descriptor ends. A refused operation touches nothing.
fn code_on(top: &KllmTop, descriptor: &Descriptor) -> u8 {
    let mut memory = memory(descriptor);
    let before = memory.bytes(0, 0x1_0000);
    let report = top.run(LIMITS, 0x1000, &mut memory);
    assert_eq!(report.end.place, if report.end.code == 0 { 0 } else { 0x1000 });
    if report.end.code != 0 {
        assert!(report.executed.is_empty() && report.written().is_empty());
        assert_eq!(memory.bytes(0, 0x1_0000), before);
    }
    report.end.code
}

fn code_of(descriptor: Descriptor) -> u8 {
    code_on(top(), &descriptor)
}

/// The code of the checks alone.
fn checked(descriptor: Descriptor) -> u8 {
    let words: Vec<u32> = descriptor.0[32..].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    top().check(descriptor.0[5], Fields(&words), &LIMITS).err().unwrap_or(0)
}

#[test]
fn reserved() {
    for bit in 0..32 {
        let expected = |known: &[u32]| if known.contains(&bit) { 0 } else { code::RESERVED };
        assert_eq!(code_of(Descriptor::product().word(44, 1 << bit)), expected(&[12]), "bit {bit}");
        assert_eq!(code_of(Descriptor::product().word(48, 1 << bit)), expected(&[0]), "bit {bit} of addend");
        assert_eq!(code_of(Descriptor::quantize().word(40, 1 << bit)), expected(&[0, 12]), "bit {bit} of quantize");
    }
    for at in 120..128 {
        assert_eq!(code_of(Descriptor::product().byte(at, 1)), code::RESERVED, "byte {at}");
    }
    for at in (56..64).chain(88..128) {
        assert_eq!(code_of(Descriptor::quantize().byte(at, 0x80)), code::RESERVED, "byte {at} of quantize");
    }
}

#[test]
fn operations_there_are() {
    // Beats of these panels are shorter than a line, so this accelerator cannot append tokens.
    let expected = [(0, code::OPCODE), (2, code::RESERVED), (5, code::FIELD), (6, code::OPCODE)];
    for (opcode, expected) in expected {
        assert_eq!(code_of(Descriptor::product().byte(5, opcode)), expected, "{opcode}");
    }
    // `vector_top` has its own tests of the vector operation.
    let vector = Descriptor::of(3).words(&[(32, 1), (36, 4), (56, 64), (92, 64)]);
    let vector = vector.longs(&[(64, 0x7000), (104, 0x6000)]);
    assert_eq!(code_of(vector.clone()), 0);
    assert_eq!(code_of(vector.clone().word(36, 33)), code::SIZE);
    assert_eq!(code_of(vector.clone().word(40, 0x300)), code::FIELD);
    assert_eq!(code_of(vector.word(116, 1)), code::RESERVED);
}

#[test]
fn sizes() {
    for (at, most) in [(32, 65_535), (36, 65_535), (40, 24)] {
        let with = |value| {
            let few = Descriptor::product().words(&[(32, 1), (36, 1), (52, 0), (56, 0), (60, 0)]).long(72, 0x9000);
            checked(few.word(at, value))
        };
        let fits = if at == 36 { code::WINDOW } else { 0 };
        assert_eq!([0, 1, most, most + 1, u32::MAX].map(with), [9, 0, fits, 9, 9], "size at {at}");
    }
    let outliers = |most| checked(Descriptor::product().word(116, most));
    assert_eq!([0, 6, 7, u32::MAX].map(outliers), [0, 0, 9, 9]);
    for (at, most) in [(32, 65_535), (36, 24)] {
        let with = |value| checked(Descriptor::quantize().words(&[(32, 1), (48, 0), (52, 0), (44, 0)]).word(at, value));
        assert_eq!([0, 1, most, most + 1, u32::MAX].map(with), [9, 0, 0, 9, 9], "size at {at} of quantize");
    }
    let k = |largest: u32, smallest: u32, n: u32| {
        checked(Descriptor::quantize().words(&[(36, n), (44, largest | smallest << 16)]))
    };
    assert_eq!([k(3, 3, 6), k(3, 3, 5), k(3, 2, 5), k(4, 0, 6), k(0, 4, 6), k(0, 3, 3)], [0, 9, 0, 9, 9, 0]);
    assert_eq!(k(0xffff, 0xffff, 24), 9);
}

/// An operand, in the order of the checks: the offset of its address, the offset of its stride, and the bytes from its
/// first to its last byte.
type Place = (usize, Option<usize>, u64);

#[test]
fn alignment_and_window_of_each_operand() {
    // Tokens of 64 + 64 + 64 bytes; panels of 2 beats of 8 bytes.
    let product: Vec<Place> = vec![
        (64, Some(52), 2 * 192),
        (72, Some(56), 64 + 16),
        (80, None, 40),
        (88, None, 192),
        (96, Some(60), 64 + 10),
        (104, Some(112), 64 + 10),
    ];
    let quantize = vec![(64, Some(48), 64 + 12), (72, None, 192), (80, Some(52), 2 * 192)];
    for (good, places) in [(Descriptor::product().word(48, 1), product), (Descriptor::quantize(), quantize)] {
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
    // Unused addends may have any address.
    assert_eq!(code_of(Descriptor::product().long(104, 3).word(112, 5)), 0);
}

type Fault = (u8, fn(Descriptor) -> Descriptor);

/// Each fault together with all faults that later checks find: the first check counts.
fn in_order(good: &Descriptor, faults: &[Fault]) {
    for first in 0..faults.len() {
        let all = faults[first..].iter().rev().fold(good.clone(), |d, (_, fault)| fault(d));
        assert_eq!(code_of(all), faults[first].0, "fault {first}");
    }
}

#[test]
fn checks_in_their_order() {
    let product: [Fault; 16] = [
        (code::MAGIC, |d| d.byte(0, 0)),
        (code::VERSION, |d| d.byte(4, 2)),
        (code::RESERVED, |d| d.byte(7, 1)),
        (code::TAG, |d| d.byte(6, 1).long(24, 4)),
        (code::RESERVED, |d| d.byte(127, 1)),
        (code::SIZE, |d| d.word(116, 7)),
        (code::ALIGNMENT, |d| d.word(52, 32)),
        (code::WINDOW, |d| d.word(52, 0xffc0)),
        (code::ALIGNMENT, |d| d.long(72, 1)),
        (code::WINDOW, |d| d.long(72, 0x1_0000)),
        (code::ALIGNMENT, |d| d.long(80, 1)),
        (code::WINDOW, |d| d.long(80, 0)),
        (code::ALIGNMENT, |d| d.long(88, 8)),
        (code::WINDOW, |d| d.long(88, 0xff80)),
        (code::ALIGNMENT, |d| d.word(60, 8)),
        (code::WINDOW, |d| d.word(48, 1).long(104, 0)),
    ];
    in_order(&Descriptor::product(), &product);
    let quantize: [Fault; 8] = [
        (code::RESERVED, |d| d.byte(63, 1)),
        (code::SIZE, |d| d.word(44, 4)),
        (code::ALIGNMENT, |d| d.word(48, 1)),
        (code::WINDOW, |d| d.word(48, 0xffc0)),
        (code::ALIGNMENT, |d| d.long(72, 1)),
        (code::WINDOW, |d| d.long(72, 0xff80)),
        (code::ALIGNMENT, |d| d.word(52, 1)),
        (code::WINDOW, |d| d.long(80, 0xff80)),
    ];
    in_order(&Descriptor::quantize(), &quantize);
}

/// An accelerator without a finder of outliers makes no tokens.
#[test]
fn no_quantizer() {
    let without = top_of(Shape { orizuru: 0, ..SHAPE });
    assert_eq!(code_on(&without, &Descriptor::quantize()), code::FIELD);
    assert_eq!(code_on(&without, &Descriptor::product()), 0);
}
