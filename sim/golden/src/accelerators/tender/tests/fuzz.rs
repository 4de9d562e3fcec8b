//! No bytes in memory make a job panic, run for ever, or write outside the rows of its descriptors.

use proptest::prelude::*;

use super::*;

/// A valid descriptor with up to three fields changed.
fn mutated() -> impl Strategy<Value = Descriptor> {
    let good = prop_oneof![3 => Just(Descriptor::matmul()), 1 => Just(Descriptor::pack())];
    let flags = prop_oneof![Just(0), Just(1), Just(0x10), Just(0x1076), any::<u32>()];
    let value = prop_oneof![
        prop::sample::select(vec![0, 1, 63, 64, 128, u32::MAX]),
        (0..0x400u32).prop_map(|k| 64 * k),
        0..40u32,
        any::<u32>()
    ];
    let mutations = prop::collection::vec((0..32usize, value), 0..3);
    (good, flags, any::<bool>(), mutations).prop_map(|(good, flags, more, mutations)| {
        let new = if more { good.next(0x1080) } else { good }.flags(flags & 0x10f7);
        mutations.into_iter().fold(new, |d, (at, value)| d.word(4 * at, value))
    })
}

fn random() -> impl Strategy<Value = Descriptor> {
    prop::collection::vec(any::<u8>(), 128).prop_map(Descriptor)
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
        first in prop_oneof![3 => mutated(), 1 => random()],
        second in prop_oneof![3 => mutated(), 1 => random()],
        opcode in prop::option::of(1..5u8),
        table in prop::collection::vec(prop_oneof![4 => 0..4u16, 1 => Just(RESCALE), 1 => any::<u16>()], 3),
    ) {
        let (mut first, second) = (short(first), short(second));
        if let Some(opcode) = opcode {
            first = first.word(0, u32::from_le_bytes(*b"SNBZ")).byte(4, 1).byte(5, opcode);
        }
        let mut memory = memory(&first);
        memory.store(0x1080, &second.0);
        memory.store(0x4000, &entries(&table));
        let before = memory.bytes(0, 0x1_0040);
        let report = top().run(LIMITS, 0x1000, &mut memory);
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
        // Ready for the next job.
        memory.store(0x1100, &Descriptor::pack().0);
        prop_assert_eq!(top().run(LIMITS, 0x1100, &mut memory).end.code, 0);
    }
}
