//! Sums of products. The array's PEs make them. A shorter computation serves if a PE's steps are exact and no accumulator
//! can overflow.

use std::cell::LazyCell;

use crate::common::inner_product::terms;
use crate::tender::mesh_pe::PeSum;
use crate::tender::multi_scale_array::{Beat, narrow, wide};

use super::OPERAND_WIDTH;

/// The largest magnitude of an operand: an unsigned one of twice the width of a PE's operands.
const LARGEST: u32 = (1 << (2 * OPERAND_WIDTH)) - 1;

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A product of this channel for each sum.
    Product(usize),
    /// All sums are doubled.
    Rescale,
}

/// The right matrix: for each channel the integers of all columns.
#[derive(Clone, Debug)]
pub struct Right {
    /// Columns.
    pub columns: usize,
    /// Integers by channel, then by column.
    pub integers: Vec<i16>,
}

impl Right {
    fn channel(&self, channel: usize) -> &[i16] {
        &self.integers[channel * self.columns..][..self.columns]
    }
}

/// Products of rows with a matrix.
#[derive(Clone, Debug)]
pub struct Products<'a, S> {
    entries: &'a [Entry],
    right: &'a Right,
    /// Whether operands have twice the width of a PE's operands.
    wide: bool,
    /// A sum that is 0.
    fresh: &'a S,
    /// For each channel, the largest magnitudes of all columns.
    largest: Vec<Magnitudes>,
    /// Whether no row can overflow an accumulator.
    fits: bool,
}

/// Magnitudes of an operand's two halves, or the magnitude of the whole operand and 0.
#[derive(Clone, Copy, Debug, Default)]
struct Magnitudes([u64; 2]);

impl Magnitudes {
    fn of(integer: i16, wide: bool) -> Self {
        if wide {
            let one = 1 << OPERAND_WIDTH;
            Self([integer.div_euclid(one).unsigned_abs().into(), integer.rem_euclid(one).unsigned_abs().into()])
        } else {
            Self([integer.unsigned_abs().into(), 0])
        }
    }

    /// The largest of all integers: from -8 to 15, or from -128 to 255.
    fn most(wide: bool) -> Self {
        let most = (1 << OPERAND_WIDTH) - 1;
        Self([most, u64::from(wide) * most])
    }

    /// The largest of all these integers. The high half grows with the integer, so its extremes are at the extremes.
    fn largest(integers: &[i16], wide: bool) -> Self {
        let low = i16::from(wide) * ((1 << OPERAND_WIDTH) - 1);
        let (least, most, low) = integers
            .iter()
            .fold((0i16, 0i16, 0i16), |(least, most, lows), &b| (least.min(b), most.max(b), lows.max(b & low)));
        let high = Self::of(least, wide).0[0].max(Self::of(most, wide).0[0]);
        Self([high, low.unsigned_abs().into()])
    }
}

/// Upper bounds for the magnitudes of the sums in up to four accumulators, whatever the signs. A bound never falls, so
/// the last bound also holds for all earlier sums.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds([u64; 4]);

impl Bounds {
    fn add(&mut self, a: Magnitudes, b: Magnitudes) {
        for (k, bound) in self.0.iter_mut().enumerate() {
            *bound = bound.saturating_add(a.0[k >> 1] * b.0[k & 1]);
        }
    }

    fn double(&mut self) {
        self.0 = self.0.map(|bound| bound.saturating_mul(2));
    }

    /// Whether no accumulator can overflow, and the whole sum fits in 64 bits.
    fn fit(&self, width: u32) -> bool {
        let most = u64::MAX >> (64 - (width - 1));
        let [high, cross, across, low] = self.0.map(u128::from);
        let whole = (high << (2 * OPERAND_WIDTH)) + ((cross + across) << OPERAND_WIDTH) + low;
        self.0.iter().all(|&bound| bound <= most) && whole <= u128::from(u64::MAX >> 1)
    }
}

impl<'a, S: PeSum<Operand = i64>> Products<'a, S> {
    /// Products of the channels in the table's order. `fresh` is a sum that is 0.
    #[must_use]
    pub fn new(entries: &'a [Entry], right: &'a Right, wide: bool, fresh: &'a S) -> Self {
        let largest = right.integers.chunks(right.columns).map(|channel| Magnitudes::largest(channel, wide)).collect();
        let mut products = Self { entries, right, wide, fresh, largest, fits: false };
        products.fits = fresh.exact_bits().is_some_and(|width| {
            let bounds = products.bounds(|_| Magnitudes::most(wide), |channel| products.largest[channel]);
            bounds.fit(width)
        });
        products
    }

    /// The sums of a row with all columns, and for each sum whether an accumulator overflowed. `left` has the row's
    /// integers by channel.
    #[must_use]
    pub fn row(&self, left: &[i16]) -> Vec<(i128, bool)> {
        let beats = LazyCell::new(|| self.beats(left));
        let Some(width) = self.fresh.exact_bits() else {
            return (0..self.right.columns).map(|column| self.sum(&beats, column)).collect();
        };
        let plain = self.plain(left);
        let of = |channel: usize| Magnitudes::of(left[channel], self.wide);
        if self.fits || self.bounds(of, |channel| self.largest[channel]).fit(width) {
            return plain.into_iter().map(|sum| (sum.into(), false)).collect();
        }
        let sum = |(column, plain): (usize, i64)| {
            let own = |channel: usize| Magnitudes::of(self.right.channel(channel)[column], self.wide);
            if self.bounds(of, own).fit(width) { (plain.into(), false) } else { self.sum(&beats, column) }
        };
        plain.into_iter().enumerate().map(sum).collect()
    }

    /// The exact sums if nothing overflows; otherwise arbitrary values.
    fn plain(&self, left: &[i16]) -> Vec<i64> {
        // The processor adds more sums of 32 bits side by side than of 64. So many products fit.
        let terms = terms(LARGEST, LARGEST);
        let mut sums = vec![0i64; self.right.columns];
        let (mut parts, mut added) = (vec![0i32; self.right.columns], 0);
        let mut collect = |parts: &mut [i32], factor: i64| {
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum = sum.wrapping_add(std::mem::take(part).into()).wrapping_mul(factor);
            }
        };
        for entry in self.entries {
            match *entry {
                Entry::Rescale => {
                    collect(&mut parts, 2);
                    added = 0;
                }
                Entry::Product(channel) if left[channel] != 0 => {
                    if added == terms {
                        collect(&mut parts, 1);
                        added = 0;
                    }
                    added += 1;
                    let a = i32::from(left[channel]);
                    // So many products fit, and without checks they are added side by side.
                    for (part, &b) in parts.iter_mut().zip(self.right.channel(channel)) {
                        *part = part.wrapping_add(a.wrapping_mul(b.into()));
                    }
                }
                Entry::Product(_) => {}
            }
        }
        collect(&mut parts, 1);
        sums
    }

    /// Bounds for a row and a column, by channel.
    fn bounds(&self, left: impl Fn(usize) -> Magnitudes, right: impl Fn(usize) -> Magnitudes) -> Bounds {
        let mut bounds = Bounds::default();
        for entry in self.entries {
            match *entry {
                Entry::Rescale => bounds.double(),
                Entry::Product(channel) => bounds.add(left(channel), right(channel)),
            }
        }
        bounds
    }

    fn beats(&self, left: &[i16]) -> Vec<Beat> {
        let beat = |entry: &Entry| match *entry {
            Entry::Rescale => Beat::Rescale(1),
            Entry::Product(channel) => Beat::Multiply {
                act: vec![left[channel].into()],
                weight: self.right.channel(channel).iter().map(|&b| b.into()).collect(),
            },
        };
        self.entries.iter().map(beat).collect()
    }

    fn sum(&self, beats: &[Beat], column: usize) -> (i128, bool) {
        if self.wide {
            wide(beats, 0, column, OPERAND_WIDTH, self.fresh).expect("integers have halves")
        } else {
            narrow(beats, 0, column, self.fresh)
        }
    }
}

/// Products with explicit requantization. A doubling ends a part of the entries and belongs to it. The sums of the
/// parts are added in a separate register, which doubles when a part ends with a doubling.
#[derive(Clone, Debug)]
pub struct Parts<'a, S> {
    parts: Vec<Products<'a, S>>,
    /// Bits of this register.
    width: u32,
}

impl<'a, S: PeSum<Operand = i64>> Parts<'a, S> {
    /// Products of the channels in the table's order. They are in parts if the sums of parts have a width.
    #[must_use]
    pub fn new(entries: &'a [Entry], right: &'a Right, wide: bool, fresh: &'a S, width: Option<u32>) -> Self {
        let ends = |entry: &Entry| width.is_some() && *entry == Entry::Rescale;
        let parts = entries.split_inclusive(ends).map(|part| Products::new(part, right, wide, fresh)).collect();
        Self { parts, width: width.unwrap_or(128) }
    }

    /// Same as [`Products::row`].
    #[must_use]
    pub fn row(&self, left: &[i16]) -> Vec<(i128, bool)> {
        let (first, others) = self.parts.split_first().expect("a table has an entry");
        let mut sums = first.row(left);
        for part in others {
            let doubles = part.entries.last() == Some(&Entry::Rescale);
            for (sum, (own, flag)) in sums.iter_mut().zip(part.row(left)) {
                let whole = if doubles { 2 * sum.0 } else { sum.0 } + own;
                let unused = 128 - self.width;
                let wrapped = whole << unused >> unused;
                *sum = (wrapped, sum.1 | flag | (wrapped != whole));
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tender::accumulator::{Accumulator, Overflow};

    impl Products<'_, Accumulator> {
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

    fn integers(wide: bool, count: usize) -> impl Strategy<Value = Vec<i16>> {
        let (least, most): (i16, i16) = if wide { (-128, 255) } else { (-8, 15) };
        prop::collection::vec(prop_oneof![3 => least..=most, 1 => Just(least), 1 => Just(most), 2 => -1..2i16], count)
    }

    proptest! {
        #![proptest_config(seeds::proptest(2000))]

        /// A sum without overflow is the same in parts and as a whole.
        #[test]
        fn parts_are_the_whole(
            (wide, left, right) in any::<bool>().prop_flat_map(|wide| (Just(wide), integers(wide, 5), integers(wide, 20))),
            entries in prop::collection::vec(entry(5), 1..30),
            width in 8..24u32,
        ) {
            let right = Right { columns: 4, integers: right };
            let kind = accumulators(64, Overflow::Wrap);
            let whole = Parts::new(&entries, &right, wide, &kind, None).row(&left);
            let parts = Parts::new(&entries, &right, wide, &kind, Some(width)).row(&left);
            for ((sum, over), (part, flag)) in whole.into_iter().zip(parts) {
                prop_assert!(!over);
                prop_assert!(flag || part == sum);
            }
        }

        /// Both computations, in accumulators that hold all sums, some sums and hardly any.
        #[test]
        fn both_ways_are_one(
            (wide, left, right) in any::<bool>().prop_flat_map(|wide| (Just(wide), integers(wide, 5), integers(wide, 20))),
            entries in prop::collection::vec(entry(5), 1..30),
            width in prop_oneof![2..65u32, 8..24u32],
            saturates: bool,
        ) {
            let policy = if saturates { Overflow::Saturate } else { Overflow::Wrap };
            let right = Right { columns: 4, integers: right };
            let fresh = accumulators(width, policy);
            let products = Products::new(&entries, &right, wide, &fresh);
            prop_assert_eq!(products.row(&left), products.by_accumulators(&left));
        }
    }
}
