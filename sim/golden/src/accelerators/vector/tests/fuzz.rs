//! No bytes in memory make a job panic, run for ever, or write outside the rows of its descriptors.

use super::*;

/// A valid descriptor with up to three fields changed.
fn mutated() -> impl Strategy<Value = Descriptor> {
    let words = [0, 0x103, 0x103f, 0x21a, 0x400, 0x850, 0x150, 0x0b7, 0xc57];
    let steps = prop_oneof![9 => prop::sample::select(words.to_vec()), 2 => any::<u32>()];
    let fields =
        [0, 4, 8, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 80, 88, 92, 96, 104, 108, 112, 124];
    let value = prop_oneof![
        Just(0),
        Just(1),
        Just(63),
        Just(64),
        Just(128),
        Just(u32::MAX),
        (0..0x400u32).prop_map(|k| 64 * k),
        0..40u32,
        any::<u32>()
    ];
    let mutation = (prop::sample::select(fields.to_vec()), value);
    (steps, prop::bool::ANY, prop::collection::vec(mutation, 0..4)).prop_map(|(steps, more, mutations)| {
        let new = Descriptor::new(steps).word(36, 6).next(if more { 0x1080 } else { 0 });
        let new = if steps & 0xd0 == 0x50 { new.word(112, 3) } else { new };
        mutations.into_iter().fold(new, |d, (at, value)| d.word(at, value))
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
        magic: bool,
    ) {
        let (first, second) = (short(first), short(second));
        let first = if magic { first.word(0, u32::from_le_bytes(*b"SNBZ")).byte(4, 1).byte(5, 1) } else { first };
        let mut memory = memory(&[(0x1000, first), (0x1080, second)]);
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
        memory.store(0x1100, &Descriptor::new(0x100).0);
        prop_assert_eq!(top().run(LIMITS, 0x1100, &mut memory).end.code, 0);
    }
}
