use proptest::prelude::*;

use super::*;
use crate::tender::accumulator::{Accumulator, Overflow};

/// A right matrix by channel, then by column.
#[derive(Clone, Debug)]
struct Matrix {
    columns: usize,
    integers: Vec<i16>,
}

impl Matrix {
    fn new(columns: usize, integers: &[i16]) -> Self {
        Self { columns, integers: integers.to_vec() }
    }

    fn of(&self, plan: &Plan<'_, Accumulator>) -> Right {
        let channel = |channel: usize| &self.integers[channel * self.columns..][..self.columns];
        plan.right(self.columns, |number, to| to.copy_from_slice(channel(number)))
    }
}

fn row(plan: &Plan<'_, Accumulator>, left: &[i16], right: &Matrix) -> Vec<(i128, bool)> {
    plan.with(&right.of(plan)).row(&plan.left(left))
}

/// The same, always by accumulators.
fn by_accumulators(plan: &Plan<'_, Accumulator>, left: &[i16], right: &Matrix) -> Vec<(i128, bool)> {
    let right = right.of(plan);
    let products = plan.with(&right).parts.remove(0);
    let beats = products.beats(&plan.left(left));
    (0..right.columns).map(|column| products.sum(&beats, column)).collect()
}

fn accumulators(width: u32, policy: Overflow) -> Accumulator {
    Accumulator::new(width, policy).unwrap()
}

#[test]
fn the_last_sum_that_fits() {
    // 9 x 225 + 22 = 2047. With 1 more, or with one doubling more, the flag is set.
    let right = Matrix::new(3, &[15, 15, 0, 2, 3, 0]);
    let mut entries = vec![Entry::Product(0); 9];
    entries.push(Entry::Product(1));
    let of =
        |entries: &[Entry], policy| row(&Plan::new(entries, false, &accumulators(12, policy), None), &[15, 11], &right);
    let sums = |policy| of(&entries, policy);
    assert_eq!(sums(Overflow::Wrap), [(2047, false), (2058 - 4096, true), (0, false)]);
    assert_eq!(sums(Overflow::Saturate), [(2047, false), (2047, true), (0, false)]);
    let doubled = [entries.as_slice(), &[Entry::Rescale]].concat();
    assert_eq!(of(&doubled, Overflow::Wrap), [(-2, true), (2 * (2058 - 4096) + 4096, true), (0, false)]);
}

#[test]
fn a_bound_that_is_too_large_is_no_overflow() {
    // The sum is small again before it leaves. The bound does not see this.
    let seven = accumulators(7, Overflow::Wrap);
    let plan = Plan::new(&[Entry::Product(0); 2], false, &seven, None);
    let right = Matrix::new(1, &[7]);
    let bounds = Bounds::of(&plan.parts[0].0, |_| Magnitudes::of(-5, false), |_| Magnitudes::of(7, false));
    assert!(!bounds.fit(7));
    assert_eq!(row(&plan, &[-5], &right), [(-70 + 128, true)]);
    let entries = [Entry::Product(0), Entry::Product(1), Entry::Product(0), Entry::Product(1)];
    let plan = Plan::new(&entries, false, &seven, None);
    let right = Matrix::new(1, &[7, 7]);
    assert_eq!(row(&plan, &[-5, 5], &right), [(0, false)]);
    assert_eq!(row(&plan, &[-5, 4], &right), [(-14, false)]);
}

#[test]
fn many_doublings_of_nothing_and_of_something() {
    let right = Matrix::new(2, &[0, 1]);
    let mut entries = vec![Entry::Rescale; 300];
    entries.insert(0, Entry::Product(0));
    for wide in [false, true] {
        let saturating = accumulators(64, Overflow::Saturate);
        let plan = Plan::new(&entries, wide, &saturating, None);
        let most = i128::from(i64::MAX);
        assert_eq!(row(&plan, &[1], &right), [(0, false), (most, true)]);
        assert_eq!(row(&plan, &[0], &right), [(0, false); 2]);
    }
    // 40 doublings of a byte: each accumulator holds a part of it.
    let wrapping = accumulators(64, Overflow::Wrap);
    let plan = Plan::new(&entries[..41], true, &wrapping, None);
    assert_eq!(row(&plan, &[-77], &right), [(0, false), (-77 << 40, false)]);
    // Doublings alone.
    let plan = Plan::new(&entries[1..3], true, &wrapping, None);
    assert_eq!(row(&plan, &[-77], &right), [(0, false); 2]);
}

/// More products of the largest operands than a sum of 32 bits holds.
#[test]
fn sums_beyond_32_bits() {
    let entries = vec![Entry::Product(0); 80_000];
    let wrapping = accumulators(64, Overflow::Wrap);
    let plan = Plan::new(&entries, true, &wrapping, None);
    assert_eq!(
        row(&plan, &[255], &Matrix::new(2, &[255, -128])),
        [(80_000 * 65_025, false), (-80_000 * 32_640, false)]
    );
}

fn entry(channels: usize) -> impl Strategy<Value = Entry> {
    prop_oneof![4 => (0..channels).prop_map(Entry::Product), 1 => Just(Entry::Rescale)]
}

/// A left row and a right matrix of 5 channels: some columns, with whole blocks and without.
fn operands() -> impl Strategy<Value = (bool, Vec<i16>, Matrix)> {
    (any::<bool>(), prop_oneof![3 => 1..8usize, 1 => Just(LANES), 2 => 17..50usize]).prop_flat_map(|(wide, columns)| {
        let right = integers(wide, 5 * columns).prop_map(move |integers| Matrix { columns, integers });
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
        let whole = row(&Plan::new(&entries, wide, &kind, None), &left, &right);
        let parts = row(&Plan::new(&entries, wide, &kind, Some(width)), &left, &right);
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
        let plan = Plan::new(&entries, wide, &fresh, None);
        prop_assert_eq!(row(&plan, &left, &right), by_accumulators(&plan, &left, &right));
    }
}
