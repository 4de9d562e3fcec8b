//! No bytes in memory make a job panic, run for ever, or write outside the rows of its descriptors. Heads keep to their
//! limits.

use proptest::prelude::*;

use super::*;

/// A valid descriptor with up to three fields changed.
fn mutated() -> impl Strategy<Value = Descriptor> {
    let good = prop_oneof![
        2 => Just(Descriptor::linear()),
        4 => Just(Descriptor::attention()),
        1 => Just(Descriptor::clear(0, 2)),
        1 => Just(Descriptor::refresh()),
        2 => Just(Descriptor::save(0, 1)),
        2 => (0..3u32, 0..4u32, 1..6u32).prop_map(|(head, first, tokens)| Descriptor::restore(head, first, tokens)),
    ];
    let value = prop_oneof![
        prop::sample::select(vec![0, 1, 2, 4, 8, 63, 64, 128, 0x1000, u32::MAX]),
        (0..0x400u32).prop_map(|k| 64 * k),
        0..40u32,
        any::<u32>()
    ];
    let mutations = prop::collection::vec((0..32usize, value), 0..3);
    (good, any::<bool>(), mutations).prop_map(|(good, more, mutations)| {
        let new = if more { good.next(0x1080) } else { good };
        mutations.into_iter().fold(new, |d, (at, value)| d.word(4 * at, value))
    })
}

fn random() -> impl Strategy<Value = Descriptor> {
    prop::collection::vec(any::<u8>(), 128).prop_map(Descriptor)
}

/// Few tokens: the same row 65,535 times takes too long for a test with many cases.
fn short(d: Descriptor) -> Descriptor {
    if d.0[5] == 2 { d.byte(37, 0).byte(38, 0) } else { d }
}

proptest! {
    #![proptest_config(seeds::proptest(1000))]

    #[test]
    fn nothing_in_memory_does_harm(
        first in prop_oneof![4 => mutated(), 1 => random()],
        second in prop_oneof![4 => mutated(), 1 => random()],
        opcode in prop::option::of(1..8u8),
        bytes in prop::collection::vec((0x2000..0x8000u64, any::<u8>()), 0..40),
    ) {
        let (mut first, second) = (short(first), short(second));
        if let Some(opcode) = opcode {
            first = short(first.word(0, u32::from_le_bytes(*b"SNBZ")).byte(4, 1).byte(5, opcode));
        }
        let top = top();
        run(&top, &mut attention_memory(&Descriptor::attention()));
        let mut memory = attention_memory(&first);
        memory.store(0x1080, &second.0);
        bytes.into_iter().for_each(|(at, byte)| memory.store(at, &[byte]));
        let before = memory.bytes(0, 0x1_0040);
        let report = run(&top, &mut memory);
        let after = memory.bytes(0, 0x1_0040);
        prop_assert!(report.end.descriptors <= LIMITS.max_descriptors);
        prop_assert_eq!(report.end.code == 0, report.end.place == 0);
        let allowed = report.written();
        for range in &allowed {
            prop_assert!(*range.start() >= LIMITS.base && *range.end() <= LIMITS.limit);
        }
        for (at, (old, new)) in before.iter().zip(&after).enumerate() {
            prop_assert!(old == new || allowed.iter().any(|range| range.contains(&(at as u64))), "byte {at:#x}");
        }
        for head in 0..3 {
            let tokens = top.head(head).tokens;
            prop_assert!(tokens.len() <= 5);
            prop_assert!(tokens.iter().all(|t| (0..256).contains(&t.score) && t.key.len() == 8 && t.value.len() == 8));
        }
        // Ready for the next job.
        memory.store(0x1100, &Descriptor::attention().0);
        prop_assert_eq!(top.run(LIMITS, 0x1100, &mut memory).end.code, 0);
    }
}
