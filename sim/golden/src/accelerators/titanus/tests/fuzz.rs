//! No bytes in memory make a job panic, run for ever, or write outside the rows of its descriptors.

use proptest::prelude::*;

use super::*;

/// A valid descriptor with up to three fields changed.
fn mutated() -> impl Strategy<Value = Descriptor> {
    let good = prop::sample::select(vec![
        load(),
        constants(),
        product(),
        product().words(&[(32, 1), (36, 4), (40, 4), (44, 4), (80, 1)]),
        product().words(&[(32, 1), (36, 4), (40, 4), (44, 4), (80, 2)]),
        append(4, 0).word(44, 1),
        append(2, 26),
        append(2, 4),
        restore(4),
        restore_rows(26),
        restore_rows(4),
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![0, 1, 63, 64, 128, 0x1000, u32::MAX]),
        (0..0x400u32).prop_map(|k| 64 * k),
        0..40u32,
        any::<u32>()
    ];
    let mutations = prop::collection::vec((0..32usize, value), 0..3);
    (good, mutations)
        .prop_map(|(good, mutations)| mutations.into_iter().fold(good, |d, (at, value)| d.word(4 * at, value)))
}

fn random() -> impl Strategy<Value = Descriptor> {
    (prop::collection::vec(any::<u8>(), 128), prop::option::of(1..6u8)).prop_map(|(bytes, opcode)| {
        let random = Descriptor(bytes);
        match opcode {
            Some(opcode) => random.word(0, u32::from_le_bytes(*b"SNBZ")).byte(4, 1).byte(5, opcode),
            None => random,
        }
    })
}

/// Few rows: the same row 65,535 times takes too long for a test with many cases.
fn short(d: Descriptor) -> Descriptor {
    let few = d.0[32] & 7;
    if d.0[33] == 0 { d } else { d.byte(32, few).byte(33, 0) }
}

proptest! {
    #![proptest_config(seeds::proptest(1000))]

    #[test]
    fn nothing_in_memory_does_harm(
        chain in prop::collection::vec(prop_oneof![6 => mutated(), 1 => random()], 1..4),
        flips in prop::collection::vec((0..2usize, 0..64u64, 0..8u8), 0..3),
        lengths in prop::option::of((0..2usize, 0..64usize)),
        noise in prop::option::of((0..2usize, prop::collection::vec(any::<u8>(), 64))),
        words in prop::collection::vec((0x2000..0x4000u64, any::<u8>()), 0..40),
    ) {
        let core = core();
        let mut memory = with_tokens();
        let begin = [load(), constants(), append(4, 0).word(44, 1), append(22, 4), restore_rows(26)];
        prop_assert_eq!(run(&core, &mut memory, &begin).end.code, 0);
        // Flipped bits, a stream that ends early, any bytes.
        for (side, at, bit) in flips {
            let at = AREAS[side] + at;
            memory.store(at, &[memory.bytes(at, 1)[0] ^ 1 << bit]);
        }
        if let Some((side, length)) = lengths {
            memory.store(AREAS[side] + length as u64, &vec![0; 64 - length]);
        }
        if let Some((side, bytes)) = noise {
            memory.store(AREAS[side], &bytes);
        }
        words.into_iter().for_each(|(at, byte)| memory.store(at, &[byte]));
        let chain: Vec<Descriptor> = chain.into_iter().map(short).collect();
        let mut after = memory.clone();
        let report = run(&core, &mut after, &chain);
        let descriptors = 0x1000..0x1000 + 128 * chain.len() as u64;
        prop_assert!(report.end.descriptors <= LIMITS.max_descriptors);
        prop_assert_eq!(report.end.code == 0, report.end.place == 0);
        prop_assert!(report.damage().is_none() || report.end.code != 0);
        prop_assert!(report.end.code == 0 || (core.context_tokens(), core.cache_tokens()) == (0, 0));
        let allowed = report.written();
        for range in &allowed {
            prop_assert!(*range.start() >= LIMITS.base && *range.end() <= LIMITS.limit);
        }
        let (before, now) = (memory.bytes(0, 0x1_0040), after.bytes(0, 0x1_0040));
        for (at, (old, new)) in (0..).zip(before.iter().zip(&now)).filter(|(at, _)| !descriptors.contains(at)) {
            prop_assert!(old == new || allowed.iter().any(|range| range.contains(&at)), "byte {at:#x}");
        }
        // Ready for the next job.
        let mut memory = with_tokens();
        let next = [append(4, 0), append(2, 4), restore(6)];
        prop_assert_eq!(run(&core, &mut memory, &next).end.code, 0);
    }
}
