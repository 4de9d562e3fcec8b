//! Saved tokens that come back: a head goes on as if it had never left, and what is refused or fails.

use super::random::*;
use super::*;

/// Where a head is saved, far from the rows of a case.
const SAVED: u64 = 0x8_0000;

fn save(elements: u64, head: u32, tokens: u64) -> Descriptor {
    let sizes = [(32, head), (40, tokens as u32), (44, elements as u32), (48, STRIDE as u32)];
    Descriptor::of(6).words(&sizes).long(56, SAVED)
}

fn restore(elements: u64, head: u32, first: u64, tokens: u64) -> Descriptor {
    let sizes = [(32, head), (36, first as u32), (40, tokens as u32), (44, elements as u32), (48, STRIDE as u32)];
    Descriptor::of(7).words(&sizes).long(56, SAVED + STRIDE * first)
}

fn end(top: &KelleTop, memory: &mut SparseMemory, descriptor: &Descriptor) -> u8 {
    memory.store(0x1000, &descriptor.0);
    top.run(WIDE, 0x1000, memory).end.code
}

/// What later operations see of a head.
fn seen(top: &KelleTop, head: usize) -> Vec<Token> {
    let of = |token: Token| if top.shape().recompute > 0 { token } else { Token { number: 0, ..token } };
    top.head(head).tokens.into_iter().map(of).collect()
}

/// One accelerator keeps its head. The other saves it at any moment, gives the place to others, and brings it back, to
/// the same head or to another one, as a whole or in parts.
#[test]
fn a_head_goes_on_as_if_it_had_never_left() {
    let (mut moves, mut evicted, mut slots) = (0, 0, 0);
    for seed in 0..80 {
        let mut case = Case::new(seed);
        case.shape.recompute = if seed % 2 == 0 { 0 } else { 3 };
        let mut random = Random::new(seed + 2000);
        let (stays, moving) = (top_of(case.shape), top_of(case.shape));
        for token in 0..case.tokens {
            let again = case.shape.recompute as u64;
            let one = case.descriptor(token, 1);
            // Values of slots come from any rows: both read the same ones.
            let one = if again > 0 && token + again < case.tokens { one.byte(59, again as u8) } else { one };
            let codes = [&stays, &moving].map(|top| {
                let code = end(top, &mut case.memory, &one);
                (code, floats(&case.memory, OUT + STRIDE * token, (case.group * case.elements) as usize))
            });
            assert_eq!(codes[0], codes[1], "seed {seed}, token {token}");
            assert!(again == 0 || stays.head(2).entered == moving.head(2).entered);
            assert_eq!(seen(&stays, 2), seen(&moving, 2), "seed {seed}, token {token}");
            let tokens = moving.head(2).tokens.len() as u64;
            evicted += u64::from(tokens < token + 1);
            if tokens == 0 || random.below(3) > 0 {
                continue;
            }
            if case.shape.recompute > 0 {
                let (position, slot) = (random.below(tokens) as u32, random.below(3) as u32);
                let keep = Descriptor::of(8).words(&[(32, 2), (36, position), (40, slot)]);
                let codes = [&stays, &moving].map(|top| end(top, &mut case.memory, &keep));
                assert_eq!(codes[0], codes[1]);
                slots += u32::from(codes[0] == 0);
            }
            assert_eq!(end(&moving, &mut case.memory, &save(case.elements, 2, tokens)), 0);
            let clear = Descriptor::clear(2, 1);
            assert_eq!(end(&moving, &mut case.memory, &clear), 0);
            // Another head takes the place, and goes.
            let other = case.descriptor(random.below(case.tokens), 1);
            assert_eq!(end(&moving, &mut case.memory, &other), 0);
            assert_eq!(end(&moving, &mut case.memory, &clear), 0);
            let mut first = 0;
            while first < tokens {
                let now = 1 + random.below(tokens - first);
                assert_eq!(end(&moving, &mut case.memory, &restore(case.elements, 2, first, now)), 0);
                first += now;
            }
            moves += 1;
        }
    }
    assert!(moves > 200 && evicted > 200 && slots > 20, "{moves} {evicted} {slots}");
}

/// Two tokens that were saved, in memory from 0x7000 on.
fn saved(top: &KelleTop) -> SparseMemory {
    let mut memory = attention_memory(&Descriptor::attention().next(0x1080));
    memory.store(0x1080, &Descriptor::save(0, 2).0);
    assert_eq!(run(top, &mut memory).end.code, 0);
    memory
}

fn code(top: &KelleTop, memory: &mut SparseMemory, descriptor: &Descriptor) -> u8 {
    memory.store(0x1000, &descriptor.0);
    run(top, memory).end.code
}

#[test]
fn tokens_come_back_by_hand() {
    let top = top();
    let mut memory = saved(&top);
    assert_eq!(code(&top, &mut memory, &Descriptor::restore(0, 0, 2)), 0);
    assert_eq!(top.head(0), top.head(1));
    // Appended in the order of memory; scores are the saved ones.
    assert_eq!(code(&top, &mut memory, &Descriptor::restore(0, 2, 1)), 0);
    let scores: Vec<i64> = top.head(0).tokens.iter().map(|token| token.score).collect();
    assert_eq!(scores, [20, 0, 20]);
    memory.store(0x7000, &[255, 0, 0, 0]);
    assert_eq!(code(&top, &mut memory, &Descriptor::restore(2, 0, 1)), 0);
    assert_eq!(top.head(2).tokens[0].score, 255);
    assert_eq!(top.head(2).tokens[0].value, [1, -2, 3, 1000, 0, 0, 0, 0]);
}

/// A row that no save writes ends the job, and the head is empty, whatever it had.
#[test]
fn rows_that_nobody_saves() {
    for at in [1, 2, 3, 4, 5, 6, 7, 8, 31, 63] {
        for row in 0..2 {
            let top = top();
            let mut memory = saved(&top);
            memory.store(0x7000 + 128 * row + at, &[1]);
            assert_eq!(code(&top, &mut memory, &Descriptor::restore(1, 2, 2)), code::FIELD, "byte {at} of row {row}");
            assert_eq!((top.head(1), top.head(0)), (Head::default(), Head::default()));
            assert_eq!(code(&top, &mut memory, &Descriptor::attention()), 0, "the head takes tokens again");
        }
    }
    let top = top_of(Shape { recompute: 2, ..SHAPE });
    let mut memory = saved(&top);
    assert_eq!(code(&top, &mut memory, &Descriptor::of(8).words(&[(32, 1), (36, 1), (40, 1)])), 0);
    // A slot that does not exist, a slot of a token of the head, a slot twice.
    for (first, second, expected) in [(0, 3, 15), (2, 0, 15), (1, 1, 15), (1, 0, 0), (0, 0, 15)] {
        memory.store(0x7006, &[first]);
        memory.store(0x7086, &[second]);
        let has = top.head(1).tokens.len() as u32;
        let ends = code(&top, &mut memory, &Descriptor::restore(1, has, 2));
        let expected = if (first, second) == (0, 0) { 0 } else { expected };
        assert_eq!(ends, expected, "slots {first} and {second}");
        if expected != 0 {
            assert_eq!(top.head(1), Head::default());
            run(&top, &mut attention_memory(&Descriptor::attention()));
            assert_eq!(code(&top, &mut memory, &Descriptor::of(8).words(&[(32, 1), (36, 1), (40, 1)])), 0);
        }
        if ends == 0 {
            assert_eq!(code(&top, &mut memory, &Descriptor::clear(1, 1)), 0);
            run(&top, &mut attention_memory(&Descriptor::attention()));
            assert_eq!(code(&top, &mut memory, &Descriptor::of(8).words(&[(32, 1), (36, 1), (40, 1)])), 0);
        }
    }
}

#[test]
fn errors_of_the_bus() {
    for place in [0x7000, 0x703f, 0x7040, 0x704f, 0x7080, 0x70cf] {
        for (error, expected) in [(BusError::Subordinate, code::SLVERR), (BusError::Decode, code::DECERR)] {
            let top = top();
            let mut memory = saved(&top);
            memory.fail(place..=place, error);
            assert_eq!(code(&top, &mut memory, &Descriptor::restore(1, 2, 2)), expected, "{place:#x}");
            assert_eq!(top.head(1), Head::default());
        }
    }
    let top = top();
    let mut memory = saved(&top);
    for area in [0x1080..=0x6fff, 0x7050..=0x707f, 0x70d0..=0xffff] {
        memory.fail(area, BusError::Decode);
    }
    assert_eq!(code(&top, &mut memory, &Descriptor::restore(1, 2, 2)), 0, "only its rows are read");
}

/// Rows that are not defined make a head of which only the number of tokens is known.
#[test]
fn rows_that_are_not_defined() {
    let shape = Shape { recompute: 2, ..SHAPE };
    let top = top_of(shape);
    let mut memory = saved(&top);
    // A save over its own rows: they lie on each other.
    let twice = Descriptor::save(0, 2).word(48, 64).next(0x1080);
    memory.store(0x1080, &Descriptor::restore(0, 0, 1).0);
    memory.store(0x1000, &twice.0);
    let report = run(&top, &mut memory);
    assert!(!report.is_certain() && top.head(0).unknown && top.head(0).slots_unknown);
    assert_eq!(code(&top, &mut memory, &Descriptor::clear(0, 1)), 0);
    assert_eq!(top.head(0), Head::default());
}

/// Cells see the tokens that come back: they are young, and hold what was saved.
#[test]
fn replayed() {
    let distribution = crate::kelle::edram_bank::Distribution::new(&[(0, 100), (u32::MAX, 200)]).unwrap();
    let run_with = |rows: [usize; 2], save_at: u64| {
        let read = |value, row| Event::Read(Read { value, bytes: [true; 2], row });
        let events = vec![
            (10, Event::Write(rows[0])),
            (20, Event::Write(rows[1])),
            (save_at, read(false, 7)),
            (save_at + 1, read(true, 7)),
            (save_at + 2, read(false, 6)),
            (save_at + 3, read(true, 6)),
        ];
        let mut memory = saved(&top());
        let top = top().replaying(Replay::new(&SHAPE, 2, 1, &distribution).with_events(events));
        assert_eq!(code(&top, &mut memory, &Descriptor::restore(1, 0, 2)), 0);
        let before = memory.bytes(0x7000, 208);
        assert_eq!(code(&top, &mut memory, &Descriptor::save(0, 2)), 0);
        top.replayed().map(|flips| (flips > 0, memory.bytes(0x7000, 208) == before))
    };
    assert_eq!(run_with([7, 6], 50), Ok((false, true)));
    assert_eq!(run_with([7, 6], 500), Ok((true, false)));
    assert!(run_with([6, 7], 50).unwrap_err().contains("row 7"));
}
