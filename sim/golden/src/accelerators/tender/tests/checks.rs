//! Every check, and their order.

use super::*;

/// The code with which the job of one descriptor ends. A refused operation touches nothing.
fn code_on(top: &TenderTop, descriptor: &Descriptor) -> u8 {
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

#[test]
fn reserved() {
    for bit in 0..32 {
        let expected = |known: &[u32]| if known.contains(&bit) { 0 } else { code::RESERVED };
        // Constants of 0: no overflow.
        let matmul = Descriptor::matmul().flags(1 << bit).long(88, 0x9000);
        assert_eq!(code_of(matmul), expected(&[0, 1, 2, 4, 5, 6, 7, 12]), "bit {bit}");
        assert_eq!(
            code_of(Descriptor::pack().flags(1 << bit).long(88, 0x9000)),
            expected(&[0, 5, 6, 12]),
            "bit {bit} of pack"
        );
    }
    let zeros = |ranges: &[std::ops::Range<usize>]| -> Vec<usize> { ranges.iter().cloned().flatten().collect() };
    for at in zeros(&[52..56, 100..104, 112..128]) {
        assert_eq!(code_of(Descriptor::matmul().byte(at, 1)), code::RESERVED, "byte {at}");
    }
    for at in zeros(&[40..48, 52..56, 60..64, 72..88, 100..104, 112..128]) {
        assert_eq!(code_of(Descriptor::pack().byte(at, 0x80)), code::RESERVED, "byte {at} of pack");
    }
    for opcode in [0, 4, 255] {
        assert_eq!(code_of(Descriptor::matmul().byte(5, opcode)), code::OPCODE);
    }
}

#[test]
fn modes_that_were_not_built() {
    let four = top_of(Shape { int8: false, ..SHAPE });
    for descriptor in [Descriptor::matmul(), Descriptor::pack()] {
        assert_eq!(code_on(&four, &descriptor), 0);
        assert_eq!(code_on(&four, &descriptor.clone().flags(1)), code::FIELD);
    }
}

#[test]
fn sizes() {
    for (at, most) in [(32, 65_535), (36, 65_535), (40, SHAPE.depth), (44, SHAPE.steps)] {
        // All panels and rows may be at the same address. The table has channel 0 only.
        let with = |value| {
            let of = Descriptor::matmul().words(&[(32, 1), (36, 1), (56, 0), (60, 0), (96, 0)]);
            code_of(of.long(80, 0x9000).word(at, value))
        };
        let fits = if at == 36 { code::WINDOW } else { 0 };
        assert_eq!([0, 1, most, most + 1, u32::MAX].map(with), [9, 0, fits, 9, 9], "size at {at}");
    }
    for at in [32, 36] {
        let with = |value| code_of(Descriptor::pack().words(&[(32, 1), (56, 0), (96, 0)]).word(at, value));
        let fits = if at == 36 { code::WINDOW } else { 0 };
        assert_eq!([0, 1, 65_535, 65_536, u32::MAX].map(with), [9, 0, fits, 9, 9], "size at {at} of pack");
    }
    assert_eq!(code_of(Descriptor::matmul().word(36, 2800)), 0, "16 bytes of constants for each column");
    assert_eq!(code_of(Descriptor::matmul().word(32, 1000).word(96, 0)), 0);
    assert_eq!(code_of(Descriptor::matmul().word(36, 2800).flags(128)), 0);
}

/// An operand, in the order of the checks: the offset of its address, the offset of its stride, and the bytes from its
/// first to its last byte.
type Place = (usize, Option<usize>, u64);

#[test]
fn alignment_and_window_of_each_operand() {
    // m = 5, n = 9, k = 7 as INT4: 2 panels of 14 bytes, 2 of 28; 3 entries.
    let matmul: Vec<(u32, Vec<Place>)> = vec![
        (0, vec![(64, Some(56), 78), (72, Some(60), 92), (80, None, 6), (88, None, 144), (104, Some(96), 4 * 64 + 18)]),
        (128, vec![(88, None, 80)]),
        (16, vec![(104, Some(96), 64 + 18)]),
        // 3 panels each of 7 words of 2 and 4 bytes.
        (1 | 16, vec![(64, Some(56), 142), (72, Some(60), 156), (104, Some(96), 128 + 18)]),
    ];
    let sized = |of: Descriptor| of.words(&[(32, 5), (36, 9)]);
    let pack = (0, vec![(64, Some(56), 4 * 64 + 18), (88, None, 144), (104, Some(96), 64 + 18)]);
    let pack = [pack, (1, vec![(104, Some(96), 128 + 18)])].map(|(flags, places)| (2, flags, places));
    for (opcode, flags, places) in matmul.into_iter().map(|(flags, places)| (1, flags, places)).chain(pack) {
        let new = || match opcode {
            1 => sized(Descriptor::matmul()).word(40, 7).flags(flags),
            _ => sized(Descriptor::pack()).flags(flags),
        };
        for (address, stride, bytes) in places {
            let with = |to: u64| code_of(new().long(address, to));
            for low in [1, 2, 16, 32, 63] {
                assert_eq!(with(0x8000 + low), code::ALIGNMENT, "operand at {address}");
            }
            for outside in [0, 0xfc0, 0x1_0000, 0x1000_0000_0000, u64::MAX - 63] {
                assert_eq!(with(outside), code::WINDOW, "operand at {address}");
            }
            // The last place where it fits, and the next place.
            let last = (0x1_0000 - bytes) / 64 * 64;
            assert_eq!((with(last), with(last + 64)), (0, code::WINDOW), "operand at {address}, flags {flags:#x}");
            let Some(stride) = stride else { continue };
            assert_eq!(code_of(new().word(stride, 32)), code::ALIGNMENT);
            assert_eq!(code_of(new().word(stride, 0xffff_ffc0)), code::WINDOW);
            assert_eq!(code_of(new().word(stride, u32::MAX)), code::ALIGNMENT, "both are wrong");
        }
    }
}

#[test]
fn the_bus_has_fewer_addresses_than_the_window() {
    let top = top_of(Shape { vector: vector::Shape { address_width: 16, ..SHAPE.vector }, ..SHAPE });
    let limits = Limits { limit: u64::MAX, ..LIMITS };
    for (at, expected) in [(0xff40, 0), (0xff80, code::WINDOW), (0x1_0000, code::WINDOW)] {
        let mut memory = memory(&Descriptor::matmul().long(104, at));
        assert_eq!(top.run(limits, 0x1000, &mut memory).end.code, expected, "{at:#x}");
    }
}

type Fault = (u8, fn(Descriptor) -> Descriptor);

/// Each fault together with all faults that later checks find: the first check counts.
fn in_order(top: &TenderTop, good: &Descriptor, faults: &[Fault]) {
    for first in 0..faults.len() {
        let all = faults[first..].iter().rev().fold(good.clone(), |d, (_, fault)| fault(d));
        assert_eq!(code_on(top, &all), faults[first].0, "fault {first}");
    }
}

#[test]
fn checks_in_their_order() {
    let four = top_of(Shape { int8: false, ..SHAPE });
    let header: [Fault; 4] = [
        (code::MAGIC, |d| d.byte(0, 0)),
        (code::VERSION, |d| d.byte(4, 2)),
        (code::RESERVED, |d| d.byte(7, 1)),
        (code::TAG, |d| d.byte(6, 1).long(24, 4)),
    ];
    let matmul: [Fault; 14] = [
        (code::RESERVED, |d| d.byte(127, 1)),
        (code::FIELD, |d| d.byte(48, 1)),
        (code::SIZE, |d| d.word(44, 65)),
        (code::ALIGNMENT, |d| d.word(56, 32)),
        (code::WINDOW, |d| d.long(64, 0)),
        (code::ALIGNMENT, |d| d.word(60, 32)),
        (code::WINDOW, |d| d.long(72, 0)),
        (code::ALIGNMENT, |d| d.long(80, 0x4002)),
        (code::ALIGNMENT, |d| d.long(88, 0x5010)),
        (code::ALIGNMENT, |d| d.word(96, 32)),
        (code::WINDOW, |d| d.long(104, 0)),
        (0, |d| d.word(36, 2)),
        (0, |d| d.word(32, 2)),
        (0, |d| d.word(40, 4)),
    ];
    in_order(&four, &Descriptor::matmul(), &[&header[..], &matmul].concat());
    let pack: [Fault; 7] = [
        (code::RESERVED, |d| d.byte(60, 1)),
        (code::FIELD, |d| d.byte(48, 1)),
        (code::SIZE, |d| d.word(36, 0)),
        (code::ALIGNMENT, |d| d.word(56, 32)),
        (code::WINDOW, |d| d.long(64, 0)),
        (code::ALIGNMENT, |d| d.long(88, 0x5010)),
        (code::WINDOW, |d| d.long(104, 0)),
    ];
    in_order(&four, &Descriptor::pack(), &[&header[..], &pack].concat());
    // The window of an operand is checked before the alignment of later operands.
    for at in [80, 88] {
        assert_eq!(code_of(Descriptor::matmul().long(at, 0).long(104, 1)), code::WINDOW);
    }
}

/// Steps on rows: the checks of the vector accelerator, with opcode 3.
#[test]
fn steps_on_rows() {
    let new = |steps| {
        let words = [(32, 3), (36, 5), (40, steps), (56, 64), (60, 64), (88, 64), (92, 64)];
        Descriptor::of(3).words(&words).longs(&[(64, 0x2000), (72, 0x3000), (80, 0x4000), (96, 0x5000), (104, 0x6000)])
    };
    assert_eq!(code_of(new(0x3f)), 0);
    assert_eq!(code_of(new(1 << 6)), code::RESERVED);
    // Softmax of two elements, layer norm with pairs, angles for six columns.
    assert_eq!([2, 0, 6].map(|length| code_of(new(0x850).word(112, length))), [0, code::SIZE, code::SIZE]);
    assert_eq!([0x5000, 0xffc1].map(|to| code_of(new(0x0b0).word(48, 1).long(96, to))), [0, code::ALIGNMENT]);
    assert_eq!([5, 6].map(|columns| code_of(new(0x400).word(36, columns))), [code::SIZE, 0]);
    assert_eq!(code_of(new(0x300)), code::FIELD);
    assert_eq!(code_of(new(0).word(36, 33)), code::SIZE);
    assert_eq!(code_of(new(2).long(72, 0x3001)), code::ALIGNMENT);
    assert_eq!(code_of(new(0).long(104, 0xffc0)), code::WINDOW);
    let some = Shape { vector: vector::Shape { steps: 1, ..SHAPE.vector }, ..SHAPE };
    assert_eq!([1, 2].map(|steps| code_on(&top_of(some), &new(steps))), [0, code::FIELD]);
    let none = vector::Units::default().steps();
    let plain = top_of(Shape { vector: vector::Shape { steps: none, ..SHAPE.vector }, ..SHAPE });
    for (steps, length) in [(0x050, 2), (0x090, 0), (0x400, 0)] {
        assert_eq!(code_on(&plain, &new(steps).word(36, 6).word(112, length)), code::FIELD, "{steps:#x}");
    }
}
