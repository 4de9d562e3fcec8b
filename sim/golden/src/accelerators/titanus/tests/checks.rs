//! Every check, and their order.

use super::*;
use crate::accelerators::job::Accelerator as _;

/// The code of the checks of a descriptor.
fn checked_on(core: &TitanusCore, descriptor: &Descriptor) -> u8 {
    let words: Vec<u32> = descriptor.0[32..].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    core.check(descriptor.0[5], Fields(&words), &LIMITS).err().unwrap_or(0)
}

/// Gives a core a context of 5 tokens, and a cache of 4.
fn fill(core: &TitanusCore) {
    core.state.borrow_mut().fill(5, None);
    core.state.borrow_mut().cache(4, None);
}

fn checked(descriptor: &Descriptor) -> u8 {
    let core = core();
    fill(&core);
    checked_on(&core, descriptor)
}

fn scores() -> Descriptor {
    product().words(&[(36, 4), (40, 5), (80, 1)])
}

fn values() -> Descriptor {
    product().words(&[(36, 5), (40, 4), (80, 2)])
}

fn all() -> [Descriptor; 9] {
    let two = append(2, 0).words(&[(44, 1), (48, 2 | LINES << 16)]);
    [load(), constants(), product(), scores(), values(), two, append(1, 4), restore(4), restore_rows(4)]
}

#[test]
fn reserved() {
    let product = &[0, 1, 2, 12];
    // Tokens to keep that do not follow the context's tokens are a wrong size.
    let options: [&[u32]; 9] = [&[0], &[0], product, product, product, &[0, 12], &[0, 12], &[0], &[0]];
    // Bytes that must be 0.
    let zeros: [&[(usize, usize)]; 9] = [
        &[(40, 44), (56, 64), (72, 128)],
        &[(48, 52), (56, 64), (72, 128)],
        &[(84, 128)],
        &[(50, 52), (84, 128)],
        &[(50, 52), (84, 128)],
        &[(96, 128)],
        &[(48, 50), (52, 56), (96, 128)],
        &[(40, 44), (48, 50), (52, 80), (96, 128)],
        &[(40, 44), (48, 50), (52, 56), (96, 128)],
    ];
    for ((good, options), zeros) in all().iter().zip(options).zip(zeros) {
        assert_eq!(checked(good), 0);
        for bit in 0..32 {
            let flipped = u32::from_le_bytes(good.0[44..48].try_into().unwrap()) ^ 1 << bit;
            let refused = checked(&good.clone().word(44, flipped)) == code::RESERVED;
            // Bit 0 of loads and restores makes other fields count.
            assert!(refused != options.contains(&bit) || bit == 0, "bit {bit} of {good:?}");
        }
        for at in 32..128 {
            let refused = checked(&good.clone().byte(at, good.0[at] ^ 0x80)) == code::RESERVED;
            let expected = zeros.iter().any(|&(from, to)| (from..to).contains(&at)) || (44..48).contains(&at);
            // A position makes prefill, thresholds and widths wrong.
            let position = good.0[5] == 4 && (40..44).contains(&at);
            assert!(refused == expected || at == 45 || position, "byte {at} of {good:?}");
        }
    }
}

#[test]
fn what_is_not_built() {
    let without = core_of;
    let codes = |core: &TitanusCore| {
        fill(core);
        all().map(|descriptor| checked_on(core, &descriptor))
    };
    let no_store = Shape { rows: 0, columns: 0, inputs: 0, outputs: 0, ..SHAPE };
    assert_eq!(codes(&without(no_store)), [15, 0, 15, 0, 0, 0, 0, 0, 0]);
    assert_eq!(codes(&without(Shape { constants: 0, ..SHAPE })), [15, 15, 15, 15, 15, 0, 0, 0, 0]);
    assert_eq!(codes(&without(Shape { context: 0, ..SHAPE })), [0, 0, 0, 15, 15, 15, 0, 15, 0]);
    let no_cache = Shape { lanes: 0, tiles: 0, levels: 0, context: 0, ..SHAPE };
    assert_eq!(codes(&without(no_cache)), [0, 0, 0, 15, 15, 15, 15, 15, 15]);
    for (shape, name) in [
        (Shape { lanes: 1, ..SHAPE }, "lanes"),
        (Shape { levels: 257, ..SHAPE }, "levels"),
        (Shape { lanes: 0, ..SHAPE }, "context"),
        (Shape { columns: 0, ..SHAPE }, "columns"),
    ] {
        assert!(TitanusCore::new(shape).unwrap_err().starts_with(name));
    }
    assert_eq!(checked(&product().word(80, 3)), code::FIELD);
    assert_eq!(checked(&product().word(80, 1 << 31)), code::FIELD);
    for (at, width) in [(54, 1), (54, 9), (55, 0), (55, 255)] {
        assert_eq!(checked(&append(1, 0).byte(at, width)), code::FIELD);
    }
}

#[test]
fn sizes() {
    let ends = |good: &Descriptor, at: usize, most: u32| {
        let few = good.clone();
        for (value, expected) in [(0, 9), (1, 0), (most, 0), (most.wrapping_add(1), 9), (u32::MAX, 9)] {
            let code = checked(&few.clone().word(at, value));
            // More rows may reach out of the window.
            assert!(code == expected || (value == most && code == code::WINDOW), "{value} at {at}: {code}");
        }
    };
    let small = load().words(&[(32, 1), (36, 1)]);
    ends(&small, 32, 8);
    ends(&small, 36, 8);
    let corner = small.word(48, 1 | 1 << 16);
    ends(&corner, 32, 4);
    ends(&corner, 36, 4);
    for tile in [1, 2, 0xffff] {
        let expected = if tile == 1 { 0 } else { 9 };
        assert_eq!(checked(&scores().words(&[(36, 2), (48, tile)])), expected);
        assert_eq!(checked(&values().words(&[(40, 2), (48, tile)])), expected);
    }
    assert_eq!([scores().word(48, 1), values().word(48, 1)].map(|d| checked(&d)), [9, 9], "all channels");
    for place in [2, 0xffff, 2 << 16, 0xffff << 16] {
        assert_eq!(checked(&load().word(48, place)), 9);
        assert_eq!(checked(&product().word(48, place)), 9);
    }
    let first = constants().words(&[(36, 1), (40, 12)]);
    ends(&first, 36, 4);
    assert_eq!(checked(&first.clone().word(32, 2)), 9);
    assert_eq!([15, 16, u32::MAX].map(|number| checked(&first.clone().word(40, number))), [0, 9, 9]);
    for (good, inner, columns) in [(product(), 8, 8), (scores(), 4, 5), (values(), 5, 4)] {
        let small = good.words(&[(32, 1), (36, 1), (40, 1)]);
        ends(&small, 32, 65_535);
        ends(&small, 36, inner);
        ends(&small, 40, columns);
    }
    let product = product();
    assert_eq!([10, 11, u32::MAX].map(|first| checked(&product.clone().word(60, first))), [0, 9, 9]);
    let one = product.word(44, 4);
    assert_eq!([15, 16, u32::MAX].map(|first| checked(&one.clone().word(60, first))), [0, 9, 9]);
    let small = append(1, 0).words(&[(56, 0), (60, 0)]);
    ends(&small, 32, 65_535);
    ends(&small, 36, 4);
    let position = |position: u32| checked(&append(2, position));
    assert_eq!([0, 3, 4, 5, u32::MAX].map(position), [0, 9, 0, 9, 9]);
    let far = core();
    far.state.borrow_mut().cache(65_533, None);
    let most = |tokens| {
        checked_on(&far, &append(tokens, 65_533).words(&[(56, 0), (60, 0)]).longs(&[(64, 0x2000), (72, 0x2000)]))
    };
    assert_eq!([1, 2, 3].map(most), [0, 0, 9]);
    let prefill = |tokens, prefill: u32, position| checked(&append(tokens, position).word(48, prefill | LINES << 16));
    assert_eq!(
        [prefill(3, 3, 0), prefill(3, 4, 0), prefill(5, 4, 0), prefill(5, 5, 0), prefill(1, 5, 0)],
        [0, 0, 0, 9, 9]
    );
    assert_eq!([prefill(3, 0, 4), prefill(3, 1, 4)], [0, 5]);
    let keep = |tokens, position| checked(&append(tokens, position).word(44, 1));
    assert_eq!([keep(6, 0), keep(7, 0), keep(1, 4)], [0, 9, 9]);
    let same = core();
    same.state.borrow_mut().cache(4, None);
    same.state.borrow_mut().fill(4, None);
    let keep = |tokens| checked_on(&same, &append(tokens, 4).word(44, 1));
    assert_eq!([1, 2, 3, u32::MAX].map(keep), [0, 0, 9, 9]);
    for good in [append(1, 0), restore(4)] {
        let lines = |lines: u32| checked(&good.clone().word(48, lines << 16));
        assert_eq!([0, 1, 65_535].map(lines), [9, 0, code::WINDOW]);
    }
    for good in [restore(4), restore_rows(4)] {
        assert_eq!([0, 3, 4, 5].map(|tokens| checked(&good.clone().word(32, tokens))), [9, 9, 0, 9]);
    }
    ends(&restore(4), 36, 4);
    // As many tokens as the cache has, and more tokens than the context can have.
    let long = core();
    long.state.borrow_mut().cache(7, None);
    assert_eq!([restore(7), restore_rows(7)].map(|d| checked_on(&long, &d)), [9, 0]);
    // Tokens that wait for the rest of their prefill.
    let open = core();
    open.state.borrow_mut().begin(4);
    for (tokens, code) in [(3, 9), (4, 0)] {
        open.state.borrow_mut().cache(tokens, None);
        assert_eq!([restore(tokens), restore_rows(tokens)].map(|d| checked_on(&open, &d)), [code; 2]);
        assert_eq!(checked_on(&open, &append(1, tokens)), 0);
    }
}

/// An operand, in order: the offset of its address, the offset of its stride, and the bytes from its first to its last
/// byte.
type Place = (usize, Option<usize>, u64);

#[test]
fn alignment_and_window_of_each_operand() {
    let area = 64 * u64::from(LINES);
    let loaded: Vec<Place> = vec![(64, Some(52), 4 * 64 + 6)];
    let product =
        |bytes: u64, results: u64| -> Vec<Place> { vec![(64, Some(52), 64 + bytes), (72, Some(56), 64 + 2 * results)] };
    let appended = vec![(64, Some(56), 68), (72, Some(60), 68), (80, None, area), (88, None, area)];
    let appended_one = vec![(64, Some(56), 4), (72, Some(60), 4), (80, None, area), (88, None, area)];
    let restored = vec![(80, None, area), (88, None, area)];
    let rows = vec![(80, None, area), (88, None, area), (64, Some(56), 196), (72, Some(60), 196)];
    let places = [
        loaded,
        vec![(64, None, 48)],
        product(5, 6),
        product(4, 5),
        product(10, 4),
        appended.clone(),
        appended_one,
        restored,
        rows,
    ];
    for (good, places) in all().iter().zip(places) {
        for (k, &(address, stride, bytes)) in places.iter().enumerate() {
            let with = |to: u64| checked(&good.clone().long(address, to));
            for low in [1, 2, 16, 32, 63] {
                assert_eq!(with(0x8000 + low), code::ALIGNMENT, "operand at {address}");
            }
            for outside in [0, 0xfc0, 0x1_0000, 0x1000_0000_0000, u64::MAX - 63] {
                assert_eq!(with(outside), code::WINDOW, "operand at {address}");
            }
            let last = (0x1_0000 - bytes) / 64 * 64;
            assert_eq!((with(last), with(last + 64)), (0, code::WINDOW), "operand at {address}");
            // This check comes before the checks of later operands.
            let later = places[k + 1..].iter().fold(good.clone(), |d, &(address, ..)| d.long(address, 1));
            assert_eq!(checked(&later.long(address, 0)), code::WINDOW);
            let Some(stride) = stride else { continue };
            assert_eq!(checked(&good.clone().word(stride, 32)), code::ALIGNMENT);
            let one_row = good.0[5] == 4 && good.0[40] != 0;
            assert_eq!(checked(&good.clone().word(stride, 0xffff_ffc0)), if one_row { 0 } else { code::WINDOW });
        }
    }
}

#[test]
fn kinds_of_checks_in_their_order() {
    for good in all() {
        let last = good.clone().long(if good.0[5] == 5 { 80 } else { 64 }, 1);
        assert_eq!(checked(&last), code::ALIGNMENT);
        let size = last.word(32, 0);
        assert_eq!(checked(&size), code::SIZE);
        let field = match good.0[5] {
            2 => size.clone().word(80, 7),
            4 if good.0[40] == 0 => size.clone().byte(54, 1),
            _ => size.clone(),
        };
        assert_eq!(checked(&field), if field.0 == size.0 { code::SIZE } else { code::FIELD });
        assert_eq!(checked(&field.byte(127, 1)), code::RESERVED);
    }
    // `vector_top` has its own tests of the vector operation.
    let vector = Descriptor::of(3).words(&[(32, 1), (36, 4), (56, 64), (92, 64)]);
    let vector = vector.longs(&[(64, 0x7000), (104, 0x6000)]);
    assert_eq!((checked(&vector), checked(&vector.clone().word(36, 33))), (0, code::SIZE));
    let mut memory = SparseMemory::new();
    assert_eq!(run(&core(), &mut memory, &[Descriptor::of(6)]).end.code, code::OPCODE);
    assert_eq!(run(&core(), &mut memory, &[vector]).end.code, 0);
}

#[test]
fn results_on_operands() {
    let (core, mut memory) = (core(), with_tokens());
    memory.store(0x2800, &records(&[(1.0, 0); 6]));
    run(&core, &mut memory, &[load(), constants()]);
    let ends = |descriptor: Descriptor| {
        let report = run(&core, &mut memory.clone(), &[descriptor]);
        assert_eq!(report.end.code, 0);
        (report.executed[0].defined, report.is_certain())
    };
    assert_eq!(ends(product()), (true, true));
    assert_eq!(ends(product().long(72, 0x3040)), (false, true));
    assert_eq!(ends(product().word(56, 0)), (false, true));
    assert_eq!(ends(append(2, 0)), (true, true));
    assert_eq!(ends(append(2, 0).long(80, 0x3000)), (false, false));
    // The stream is not known then, and a later restore may be refused or not.
    assert_eq!(ends(append(2, 0).long(80, AREAS[1])), (false, false));
    memory.store(0x2000, &[1; 64]);
    let ends = |descriptor: Descriptor| {
        let report = run(&core, &mut memory.clone(), &[append(2, 0), descriptor]);
        (report.executed[1].defined, report.is_certain())
    };
    assert_eq!(ends(restore_rows(2)), (true, true));
    assert_eq!(ends(restore_rows(2).long(64, 0x7000)), (false, true));
    assert_eq!(ends(restore_rows(2).long(64, AREAS[1] + 64)), (false, false));
    assert_eq!(ends(restore_rows(2).word(60, 0)), (false, true));
}
