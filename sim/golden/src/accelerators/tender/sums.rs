//! Sums of products. The array's PEs make them. A shorter computation serves if a PE's steps are exact and no accumulator
//! can overflow.

use std::cell::LazyCell;

use crate::common::inner_product::terms;
use crate::tender::mesh_pe::PeSum;
use crate::tender::multi_scale_array::{Beat, narrow, wide};

use super::OPERAND_WIDTH;

/// The largest magnitude of an operand: an unsigned one of twice the width of a PE's operands.
const LARGEST: u32 = (1 << (2 * OPERAND_WIDTH)) - 1;

/// Columns whose sums are made at once.
const BLOCK: usize = 16;

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

/// A table for the products of any rows with any matrices.
#[derive(Clone, Debug)]
pub struct Plan<'a, S> {
    /// Entries, and whether no operand at all can overflow an accumulator with them.
    parts: Vec<(&'a [Entry], bool)>,
    wide: bool,
    fresh: &'a S,
    width: u32,
}

impl<'a, S: PeSum<Operand = i64>> Plan<'a, S> {
    /// Products of the channels in the table's order. They are in parts if the sums of parts have a width. `fresh` is a
    /// sum that is 0.
    #[must_use]
    pub fn new(entries: &'a [Entry], wide: bool, fresh: &'a S, width: Option<u32>) -> Self {
        let ends = |entry: &Entry| width.is_some() && *entry == Entry::Rescale;
        let most = |_| Magnitudes::most(wide);
        let fits = |part| fresh.exact_bits().is_some_and(|bits| Bounds::of(part, most, most).fit(bits));
        let parts = entries.split_inclusive(ends).map(|part| (part, fits(part))).collect();
        Self { parts, wide, fresh, width: width.unwrap_or(128) }
    }

    /// Products with this matrix.
    #[must_use]
    pub fn with<'b>(&self, right: &'b Right) -> Parts<'b, S>
    where
        'a: 'b,
    {
        let products = |&(entries, fits): &(&'a [Entry], bool)| {
            let products = Products { entries, right, wide: self.wide, fresh: self.fresh, largest: Vec::new(), fits };
            if fits { products } else { products.bounded() }
        };
        Parts { parts: self.parts.iter().map(products).collect(), width: self.width }
    }
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
    /// For operands by channel.
    fn of(entries: &[Entry], left: impl Fn(usize) -> Magnitudes, right: impl Fn(usize) -> Magnitudes) -> Self {
        let mut bounds = Self::default();
        for entry in entries {
            match *entry {
                Entry::Rescale => bounds.double(),
                Entry::Product(channel) => bounds.add(left(channel), right(channel)),
            }
        }
        bounds
    }

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
    /// The same, with what the matrix says about overflows.
    fn bounded(mut self) -> Self {
        let channels = self.right.integers.chunks(self.right.columns);
        self.largest = channels.map(|channel| Magnitudes::largest(channel, self.wide)).collect();
        self.fits = self.fresh.exact_bits().is_some_and(|width| {
            self.bounds(|_| Magnitudes::most(self.wide), |channel| self.largest[channel]).fit(width)
        });
        self
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
        let mut sums = vec![0; self.right.columns];
        let (blocks, rest) = sums.as_chunks_mut::<BLOCK>();
        for (first, block) in (0..).step_by(BLOCK).zip(blocks) {
            *block = self.block(left, |channel| channel[first..].first_chunk().expect("a block in a row"));
        }
        let first = self.right.columns - rest.len();
        for (column, sum) in (first..).zip(rest) {
            let [one] = self.block(left, |channel| channel[column..].first_chunk().expect("a column"));
            *sum = one;
        }
        sums
    }

    /// The same for some columns, whose sums stay in the processor's registers.
    fn block<const N: usize>(&self, left: &[i16], columns: impl Fn(&[i16]) -> &[i16; N]) -> [i64; N] {
        // The processor adds more sums of 32 bits side by side than of 64. So many products fit.
        let terms = terms(LARGEST, LARGEST);
        let (mut sums, mut parts, mut added) = ([0i64; N], [0i32; N], 0);
        let collect = |sums: &mut [i64; N], parts: &mut [i32; N], factor: i64| {
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum = sum.wrapping_add(std::mem::take(part).into()).wrapping_mul(factor);
            }
        };
        for entry in self.entries {
            match *entry {
                Entry::Rescale => {
                    collect(&mut sums, &mut parts, 2);
                    added = 0;
                }
                Entry::Product(channel) => {
                    if added == terms {
                        collect(&mut sums, &mut parts, 1);
                        added = 0;
                    }
                    added += 1;
                    let a = i32::from(left[channel]);
                    // Without checks they are added side by side.
                    for (part, &b) in parts.iter_mut().zip(columns(self.right.channel(channel))) {
                        *part = part.wrapping_add(a.wrapping_mul(b.into()));
                    }
                }
            }
        }
        collect(&mut sums, &mut parts, 1);
        sums
    }

    /// Bounds for a row and a column, by channel.
    fn bounds(&self, left: impl Fn(usize) -> Magnitudes, right: impl Fn(usize) -> Magnitudes) -> Bounds {
        Bounds::of(self.entries, left, right)
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
mod tests;
