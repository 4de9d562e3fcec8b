//! Tokens that are kept as their inputs. While recomputed keys and values equal the old ones, nothing changes. Also the
//! refused operations.

use super::random::*;
use super::*;

/// The addresses of recomputed keys and values, before the rows of a token.
const AGAIN: [u64; 2] = [0x5_0000, 0x6_0000];
const SLOTS: u32 = 3;

fn recompute(head: u32, position: u32, slot: u32) -> Descriptor {
    Descriptor::of(8).words(&[(32, head), (36, position), (40, slot)])
}

fn code(top: &KelleTop, memory: &mut SparseMemory, descriptor: &Descriptor) -> u8 {
    memory.store(0x1000, &descriptor.0);
    top.run(WIDE, 0x1000, memory).end.code
}

/// One token of a case, after recomputed rows for the tokens of these numbers.
fn step(case: &mut Case, top: &KelleTop, token: u64, again: &[Option<u64>]) {
    let bytes = (2 * case.elements) as usize;
    for (from, to) in [(KEYS, AGAIN[0]), (VALUES, AGAIN[1])] {
        // A slot without a token may hold any values.
        let rows = again.iter().map(|&slot| slot.unwrap_or(0)).chain([token]);
        for (place, row) in (0..).zip(rows) {
            let row = case.memory.bytes(from + STRIDE * row, bytes);
            case.memory.store(to + STRIDE * place, &row);
        }
    }
    let one = case.descriptor(token, 1);
    let one = one.byte(59, again.len() as u8).longs(&[(104, AGAIN[0]), (112, AGAIN[1])]);
    assert_eq!(code(top, &mut case.memory, &one), 0);
}

#[test]
fn what_comes_again_as_it_was_changes_nothing() {
    let (mut kept, mut evicted) = (0, 0);
    for seed in 0..60 {
        let mut case = Case::new(seed);
        case.shape.recompute = SLOTS;
        let (plain, top) = (top_of(case.shape), top_of(case.shape));
        let mut random = Random::new(seed + 1000);
        let mut slots = [None; SLOTS as usize];
        for token in 0..case.tokens {
            case.run(&plain, token, 1);
            let expected = case.results(token);
            step(&mut case, &top, token, &slots);
            assert_eq!(case.results(token), expected, "seed {seed}, token {token}");
            let (ours, theirs) = (top.head(2), plain.head(2));
            let bare = |token: &Token| Token { slot: None, ..token.clone() };
            assert!(ours.tokens.iter().map(bare).eq(theirs.tokens), "seed {seed}, token {token}");
            for (slot, of) in (0..).zip(&mut slots) {
                let there = ours.tokens.iter().any(|token| token.slot == Some(slot));
                evicted += u32::from(of.is_some() && !there);
                *of = of.filter(|_| there);
            }
            let slot = random.below(SLOTS.into()) as usize;
            let position = random.below(ours.tokens.len() as u64) as usize;
            let Token { slot: has, number, .. } = ours.tokens[position];
            let expected = if has.is_some() || slots[slot].is_some() { code::FIELD } else { 0 };
            let got = code(&top, &mut case.memory, &recompute(2, position as u32, slot as u32));
            assert_eq!(got, expected);
            if got == 0 {
                slots[slot] = Some(number.into());
                kept += 1;
            }
        }
    }
    assert!(kept > 100 && evicted > 20, "{kept} {evicted}");
}

#[test]
fn what_comes_again_counts() {
    let top = top_of(Shape { recompute: 2, ..SHAPE });
    let mut memory = attention_memory(&Descriptor::attention());
    run(&top, &mut memory);
    assert_eq!(code(&top, &mut memory, &recompute(1, 0, 1)), 0);
    // Slot 0 is free, so the values of its rows do not count.
    let rows: [(u64, [f64; 4]); 3] = [(0, [f64::NAN; 4]), (1, [1e5, 0.0, 0.0, 3.0]), (2, [0.0, 1.0, 0.0, 0.0])];
    for (row, key) in rows {
        memory.store(0x3000 + 64 * row, &halves(&key));
        memory.store(0x4000 + 64 * row, &halves(&key));
    }
    let one = Descriptor::attention().words(&[(36, 1)]).byte(59, 2);
    memory.store(0x1000, &one.0);
    let report = run(&top, &mut memory);
    // 1e5 is infinite in fp16, and saturates as key and as value.
    assert_eq!((report.end.code, report.counts().saturations), (0, 2));
    let head = top.head(1);
    assert_eq!((head.tokens[0].key[0], head.tokens[0].key[3], head.tokens[0].slot), (32_767, 3, Some(1)));
    assert_eq!((head.tokens[2].key[1], head.tokens[2].number, head.entered), (1, 2, 3));
    memory.store(0x1000, &one.word(48, EXACT).0);
    assert_eq!(run(&top, &mut memory).end.code, code::OVERFLOW);
}

#[test]
fn checks() {
    let top = top_of(Shape { recompute: 3, ..SHAPE });
    let mut memory = attention_memory(&Descriptor::attention());
    run(&top, &mut memory);
    let mut ends = |descriptor: Descriptor| code(&top, &mut memory, &descriptor);
    let again = |slots, options: u32| Descriptor::attention().word(36, 1).word(48, options).byte(59, slots);
    assert_eq!([again(4, 0), again(255, 0), again(1, 2), again(3, 0)].map(&mut ends), [9, 9, 5, 0]);
    let many = Descriptor::attention().words(&[(36, 65_535), (80, 0), (84, 0), (88, 0), (92, 0)]);
    assert_eq!(ends(many.byte(59, 1)), code::SIZE);
    // The head has three tokens now.
    let sizes =
        [recompute(3, 0, 0), recompute(1, 3, 0), recompute(0, 0, 0), recompute(1, 0, 3), recompute(1, u32::MAX, 0)];
    assert_eq!(sizes.map(&mut ends), [code::SIZE; 5]);
    for at in 44..128 {
        assert_eq!(ends(recompute(1, 0, 0).byte(at, 0x40)), code::RESERVED, "byte {at}");
    }
    assert_eq!(
        [recompute(1, 0, 2), recompute(1, 0, 1), recompute(1, 1, 2), Descriptor::of(9)].map(&mut ends),
        [0, 15, 15, 4]
    );
    // The slot does not come. Places of operands are checked first.
    assert_eq!([again(2, 0), again(0, 0), again(2, 0).long(112, 1), again(3, 0)].map(&mut ends), [15, 15, 8, 0]);
    assert_eq!(top.head(1).tokens.len(), 3, "a budget of three");
    // A slot is free again when its token is evicted.
    let gone = Descriptor::attention().words(&[(36, 1), (52, 1), (56, 0)]).byte(59, 3);
    assert_eq!((ends(gone), top.head(1).tokens.len()), (0, 1));
    assert_eq!([again(0, 0), recompute(1, 0, 2), Descriptor::clear(1, 1), again(0, 0)].map(&mut ends), [0; 4]);
    // An accelerator without recomputation.
    assert_eq!(code(&super::top(), &mut memory, &recompute(1, 0, 0)), code::OPCODE);
}

#[test]
fn numbers_of_saved_tokens() {
    let top = top_of(Shape { recompute: 1, ..SHAPE });
    let mut memory = attention_memory(&Descriptor::attention());
    run(&top, &mut memory);
    run(&top, &mut memory);
    // Four tokens came, three are there.
    assert_eq!(code(&top, &mut memory, &Descriptor::save(0, 3)), 0);
    let numbers: Vec<u8> = (0..3).map(|row| memory.bytes(0x7000 + 128 * row, 6)[4]).collect();
    let expected: Vec<u8> = top.head(1).tokens.iter().map(|token| token.number as u8).collect();
    assert_eq!(numbers, expected);
    assert_eq!((numbers[0], numbers[2]), (0, 3));
}

/// A replay sees that a recomputed token is written to its own row.
#[test]
fn replayed() {
    let shape = Shape { recompute: 1, ..SHAPE };
    let distribution = crate::kelle::edram_bank::Distribution::new(&[(0, 1000), (u32::MAX, 2000)]).unwrap();
    let read = |all: &mut Vec<(u64, Event)>, rows: &[usize]| {
        let mut now = all.last().unwrap().0;
        for (value, bytes) in [false, true].into_iter().flat_map(|v| [(v, [true, false]), (v, [false, true])]) {
            for &row in rows {
                now += 1;
                all.push((now, Event::Read(Read { value, bytes, row })));
            }
        }
    };
    let events = |row| {
        let mut all = vec![(10, Event::Write(4))];
        read(&mut all, &[4]);
        // Its cells have lost all bits by then.
        all.extend([(9000, Event::Write(row)), (9001, Event::Write(2))]);
        read(&mut all, &[4, 2]);
        all
    };
    let run_with = |row| {
        let cells = Replay::new(&shape, 2, 1, &distribution).with_events(events(row));
        let top = top_of(shape).replaying(cells);
        let mut memory = attention_memory(&Descriptor::attention());
        assert_eq!(code(&top, &mut memory, &Descriptor::attention().word(36, 1)), 0);
        assert_eq!(code(&top, &mut memory, &recompute(1, 0, 0)), 0);
        assert_eq!(code(&top, &mut memory, &Descriptor::attention().word(36, 1).byte(59, 1)), 0);
        top.replayed()
    };
    assert_eq!(run_with(4), Ok(0));
    assert!(run_with(3).unwrap_err().contains("row 3"));
}
