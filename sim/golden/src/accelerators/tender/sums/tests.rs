use proptest::prelude::*;

use super::*;
use crate::tender::accumulator::{Accumulator, Overflow};

impl<'a> Products<'a, Accumulator> {
    fn new(entries: &'a [Entry], right: &'a Right, wide: bool, fresh: &'a Accumulator) -> Self {
        Plan::new(entries, wide, fresh, None).with(right).parts.remove(0)
    }

    /// Same as [`Self::row`], always by accumulators.
    fn by_accumulators(&self, left: &[i16]) -> Vec<(i128, bool)> {
        let beats = self.beats(left);
        (0..self.right.columns).map(|column| self.sum(&beats, column)).collect()
    }
}

fn accumulators(width: u32, policy: Overflow) -> Accumulator {
    Accumulator::new(width, policy).unwrap()
}

#[test]
fn the_last_sum_that_fits() {
    // 9 x 225 + 22 = 2047. With 1 more, or with one doubling more, the flag is set.
    let right = Right { columns: 3, integers: [[15, 15, 0], [2, 3, 0]].concat() };
    let mut entries = vec![Entry::Product(0); 9];
    entries.push(Entry::Product(1));
    let of =
        |entries: &[Entry], policy| Products::new(entries, &right, false, &accumulators(12, policy)).row(&[15, 11]);
    let sums = |policy| of(&entries, policy);
    assert_eq!(sums(Overflow::Wrap), [(2047, false), (2058 - 4096, true), (0, false)]);
    assert_eq!(sums(Overflow::Saturate), [(2047, false), (2047, true), (0, false)]);
    let doubled = [entries.as_slice(), &[Entry::Rescale]].concat();
    assert_eq!(of(&doubled, Overflow::Wrap), [(-2, true), (2 * (2058 - 4096) + 4096, true), (0, false)]);
}

#[test]
fn a_bound_that_is_too_large_is_no_overflow() {
    // The sum is small again before it leaves. The bound does not see this.
    let right = Right { columns: 1, integers: vec![7] };
    let entries = [Entry::Product(0); 2];
    let seven = accumulators(7, Overflow::Wrap);
    let products = Products::new(&entries, &right, false, &seven);
    assert!(!products.bounds(|_| Magnitudes::of(-5, false), |_| Magnitudes::of(7, false)).fit(7));
    assert_eq!(products.row(&[-5]), [(-70 + 128, true)]);
    let entries = [Entry::Product(0), Entry::Product(1), Entry::Product(0), Entry::Product(1)];
    let right = Right { columns: 1, integers: vec![7, 7] };
    let products = Products::new(&entries, &right, false, &seven);
    assert_eq!(products.row(&[-5, 5]), [(0, false)]);
    assert_eq!(products.row(&[-5, 4]), [(-14, false)]);
}

#[test]
fn many_doublings_of_nothing_and_of_something() {
    let right = Right { columns: 2, integers: vec![0, 1] };
    let mut entries = vec![Entry::Rescale; 300];
    entries.insert(0, Entry::Product(0));
    for wide in [false, true] {
        let saturating = accumulators(64, Overflow::Saturate);
        let products = Products::new(&entries, &right, wide, &saturating);
        let most = i128::from(i64::MAX);
        assert_eq!(products.row(&[1]), [(0, false), (most, true)]);
        assert_eq!(products.row(&[0]), [(0, false); 2]);
    }
    // 40 doublings of a byte: each accumulator holds a part of it.
    let wrapping = accumulators(64, Overflow::Wrap);
    let products = Products::new(&entries[..41], &right, true, &wrapping);
    assert_eq!(products.row(&[-77]), [(0, false), (-77 << 40, false)]);
}

fn entry(channels: usize) -> impl Strategy<Value = Entry> {
    prop_oneof![4 => (0..channels).prop_map(Entry::Product), 1 => Just(Entry::Rescale)]
}

/// A left row and a right matrix of 5 channels: some columns, with whole blocks and without.
fn operands() -> impl Strategy<Value = (bool, Vec<i16>, Right)> {
    (any::<bool>(), prop_oneof![3 => 1..8usize, 1 => Just(BLOCK), 2 => 17..50usize]).prop_flat_map(|(wide, columns)| {
        let right = integers(wide, 5 * columns).prop_map(move |integers| Right { columns, integers });
        (Just(wide), integers(wide, 5), right)
    })
}

fn integers(wide: bool, count: usize) -> impl Strategy<Value = Vec<i16>> {
    let (least, most): (i16, i16) = if wide { (-128, 255) } else { (-8, 15) };
    prop::collection::vec(prop_oneof![3 => least..=most, 1 => Just(least), 1 => Just(most), 2 => -1..2i16], count)
}

proptest! {
    #![proptest_config(seeds::proptest(2000))]

    /// A sum without overflow is the same in parts and as a whole.
    #[test]
    fn parts_are_the_whole(
        (wide, left, right) in operands(),
        entries in prop::collection::vec(entry(5), 1..30),
        width in 8..24u32,
    ) {
        let kind = accumulators(64, Overflow::Wrap);
        let whole = Plan::new(&entries, wide, &kind, None).with(&right).row(&left);
        let parts = Plan::new(&entries, wide, &kind, Some(width)).with(&right).row(&left);
        for ((sum, over), (part, flag)) in whole.into_iter().zip(parts) {
            prop_assert!(!over);
            prop_assert!(flag || part == sum);
        }
    }

    /// Both computations, in accumulators that hold all sums, some sums and hardly any.
    #[test]
    fn both_ways_are_one(
        (wide, left, right) in operands(),
        entries in prop::collection::vec(entry(5), 1..30),
        width in prop_oneof![2..65u32, 8..24u32],
        saturates: bool,
    ) {
        let policy = if saturates { Overflow::Saturate } else { Overflow::Wrap };
        let fresh = accumulators(width, policy);
        let products = Products::new(&entries, &right, wide, &fresh);
        prop_assert_eq!(products.row(&left), products.by_accumulators(&left));
    }
}
