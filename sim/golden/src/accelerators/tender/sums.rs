//! Sums of products. The array's PEs make them. A shorter computation serves if a PE's steps are exact and no accumulator
//! can overflow.

use std::cell::LazyCell;
use std::ops::Range;

use crate::common::inner_product::terms;
use crate::common::pairs::{LANES, Lanes, add_pairs};
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

/// The right matrix: blocks of columns, and in each the pairs of products in the table's order.
#[derive(Clone, Debug)]
pub struct Right {
    columns: usize,
    /// Pairs of a block.
    pairs: usize,
    /// Zeros after the last column, up to a whole block.
    integers: Vec<Lanes>,
}

impl Right {
    fn integer(&self, product: usize, column: usize) -> i16 {
        self.integers[column / LANES * self.pairs + product / 2][column % LANES][product % 2]
    }

    fn row(&self, product: usize) -> impl Iterator<Item = i16> {
        (0..self.columns).map(move |column| self.integer(product, column))
    }
}

/// Some products, and whether all sums are doubled after them.
///
/// Products come in pairs. If a segment has an odd number, the second one of its last pair is a product of zeros, which
/// nobody counts.
#[derive(Clone, Debug)]
struct Segment {
    /// The number of the first pair.
    first: usize,
    count: usize,
    doubles: bool,
}

impl Segment {
    /// Products that count.
    fn products(&self) -> Range<usize> {
        2 * self.first..2 * self.first + self.count
    }

    fn pairs(&self) -> Range<usize> {
        self.first..self.first + self.count.div_ceil(2)
    }
}

/// The channels of a pair of products. There may be no second one.
type Pair = (usize, Option<usize>);

/// Products of rows with a matrix.
#[derive(Clone, Debug)]
pub struct Products<'a, S> {
    segments: &'a [Segment],
    right: &'a Right,
    /// Whether operands have twice the width of a PE's operands.
    wide: bool,
    /// A sum that is 0.
    fresh: &'a S,
    /// For each product, the largest magnitudes of all columns.
    largest: Vec<Magnitudes>,
    /// Whether no row can overflow an accumulator.
    fits: bool,
}

/// A table for the products of any rows with any matrices.
#[derive(Clone, Debug)]
pub struct Plan<'a, S> {
    /// The channels of all products.
    pairs: Vec<Pair>,
    /// Parts of the table, and whether no operand at all can overflow an accumulator with them.
    parts: Vec<(Vec<Segment>, bool)>,
    wide: bool,
    fresh: &'a S,
    width: u32,
}

impl<'a, S: PeSum<Operand = i64>> Plan<'a, S> {
    /// Products of the channels in the table's order. They are in parts if the sums of parts have a width. `fresh` is a
    /// sum that is 0.
    #[must_use]
    pub fn new(entries: &[Entry], wide: bool, fresh: &'a S, width: Option<u32>) -> Self {
        let (mut pairs, mut segments): (Vec<Pair>, Vec<Segment>) = Default::default();
        for some in entries.split_inclusive(|entry| *entry == Entry::Rescale) {
            let channels = some.iter().filter_map(|entry| match *entry {
                Entry::Product(channel) => Some(channel),
                Entry::Rescale => None,
            });
            let channels: Vec<usize> = channels.collect();
            let (first, doubles) = (pairs.len(), some.last() == Some(&Entry::Rescale));
            pairs.extend(channels.chunks(2).map(|pair| (pair[0], pair.get(1).copied())));
            segments.push(Segment { first, count: channels.len(), doubles });
        }
        let most = |_| Magnitudes::most(wide);
        let fits = |part: &[Segment]| fresh.exact_bits().is_some_and(|bits| Bounds::of(part, most, most).fit(bits));
        let of_part = if width.is_some() { 1 } else { segments.len().max(1) };
        let parts = segments.chunks(of_part).map(|part| (part.to_vec(), fits(part))).collect();
        Self { pairs, parts, wide, fresh, width: width.unwrap_or(128) }
    }

    /// The integers of a left row, by channel, in the order of the products.
    #[must_use]
    pub fn left(&self, row: &[i16]) -> Vec<[i16; 2]> {
        self.pairs.iter().map(|&(first, second)| [row[first], second.map_or(0, |channel| row[channel])]).collect()
    }

    /// A right matrix of so many columns; `read` gets the integers of a channel.
    #[must_use]
    pub fn right(&self, columns: usize, mut read: impl FnMut(usize, &mut [i16])) -> Right {
        let (pairs, blocks) = (self.pairs.len(), columns.div_ceil(LANES));
        let mut integers = vec![[[0; 2]; LANES]; pairs * blocks];
        let mut rows = [vec![0; blocks * LANES], vec![0; blocks * LANES]];
        for (number, &(first, second)) in self.pairs.iter().enumerate() {
            read(first, &mut rows[0][..columns]);
            match second {
                Some(channel) => read(channel, &mut rows[1][..columns]),
                None => rows[1].fill(0),
            }
            let [firsts, seconds] = rows.each_ref().map(|row| row.as_chunks::<LANES>().0);
            for (block, (firsts, seconds)) in firsts.iter().zip(seconds).enumerate() {
                let lanes = &mut integers[block * pairs + number];
                for (lane, (&first, &second)) in lanes.iter_mut().zip(firsts.iter().zip(seconds)) {
                    *lane = [first, second];
                }
            }
        }
        Right { columns, pairs, integers }
    }

    /// Products with this matrix.
    #[must_use]
    pub fn with<'b>(&'b self, right: &'b Right) -> Parts<'b, S> {
        let products = |(segments, fits): &'b (Vec<Segment>, bool)| {
            let (wide, fresh, fits) = (self.wide, self.fresh, *fits);
            let products = Products { segments, right, wide, fresh, largest: Vec::new(), fits };
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
    fn largest(integers: impl Iterator<Item = i16>, wide: bool) -> Self {
        let low = i16::from(wide) * ((1 << OPERAND_WIDTH) - 1);
        let (least, most, low) =
            integers.fold((0i16, 0i16, 0i16), |(least, most, lows), b| (least.min(b), most.max(b), lows.max(b & low)));
        let high = Self::of(least, wide).0[0].max(Self::of(most, wide).0[0]);
        Self([high, low.unsigned_abs().into()])
    }
}

/// Upper bounds for the magnitudes of the sums in up to four accumulators, whatever the signs. A bound never falls, so
/// the last bound also holds for all earlier sums.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds([u64; 4]);

impl Bounds {
    /// For operands by product.
    fn of(part: &[Segment], left: impl Fn(usize) -> Magnitudes, right: impl Fn(usize) -> Magnitudes) -> Self {
        let mut bounds = Self::default();
        for segment in part {
            segment.products().for_each(|product| bounds.add(left(product), right(product)));
            if segment.doubles {
                bounds.double();
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

impl<S: PeSum<Operand = i64>> Products<'_, S> {
    /// The same, with what the matrix says about overflows.
    fn bounded(mut self) -> Self {
        let largest = |product| Magnitudes::largest(self.right.row(product), self.wide);
        self.largest = (0..2 * self.right.pairs).map(largest).collect();
        self.fits = self.fresh.exact_bits().is_some_and(|width| {
            self.bounds(|_| Magnitudes::most(self.wide), |product| self.largest[product]).fit(width)
        });
        self
    }

    /// The sums of a row with all columns, and for each sum whether an accumulator overflowed. `left` has the row's
    /// integers by product.
    #[must_use]
    pub fn row(&self, left: &[[i16; 2]]) -> Vec<(i128, bool)> {
        let beats = LazyCell::new(|| self.beats(left));
        let Some(width) = self.fresh.exact_bits() else {
            return (0..self.right.columns).map(|column| self.sum(&beats, column)).collect();
        };
        let plain = self.plain(left);
        let of = |product: usize| Magnitudes::of(left.as_flattened()[product], self.wide);
        if self.fits || self.bounds(of, |product| self.largest[product]).fit(width) {
            return plain.into_iter().map(|sum| (sum.into(), false)).collect();
        }
        let sum = |(column, plain): (usize, i64)| {
            let own = |product: usize| Magnitudes::of(self.right.integer(product, column), self.wide);
            if self.bounds(of, own).fit(width) { (plain.into(), false) } else { self.sum(&beats, column) }
        };
        plain.into_iter().enumerate().map(sum).collect()
    }

    /// The exact sums if nothing overflows; otherwise arbitrary values.
    fn plain(&self, left: &[[i16; 2]]) -> Vec<i64> {
        let blocks = 0..self.right.columns.div_ceil(LANES);
        let mut sums: Vec<i64> = blocks.flat_map(|block| self.block(left, block)).collect();
        sums.truncate(self.right.columns);
        sums
    }

    /// The same for a block of columns.
    fn block(&self, left: &[[i16; 2]], block: usize) -> [i64; LANES] {
        // The processor adds more sums of 32 bits side by side than of 64. So many pairs fit.
        let terms = terms(LARGEST, LARGEST) / 2;
        let right = &self.right.integers[block * self.right.pairs..][..self.right.pairs];
        let mut sums = [0i64; LANES];
        for segment in self.segments {
            let (left, right) = (&left[segment.pairs()], &right[segment.pairs()]);
            for (left, right) in left.chunks(terms).zip(right.chunks(terms)) {
                let mut parts = [0; LANES];
                add_pairs(&mut parts, left, right);
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum = sum.wrapping_add(part.into()));
            }
            if segment.doubles {
                sums.iter_mut().for_each(|sum| *sum = sum.wrapping_mul(2));
            }
        }
        sums
    }

    /// Bounds for a row and a column, by product.
    fn bounds(&self, left: impl Fn(usize) -> Magnitudes, right: impl Fn(usize) -> Magnitudes) -> Bounds {
        Bounds::of(self.segments, left, right)
    }

    fn beats(&self, left: &[[i16; 2]]) -> Vec<Beat> {
        let multiply = |product: usize| Beat::Multiply {
            act: vec![left.as_flattened()[product].into()],
            weight: self.right.row(product).map(i64::from).collect(),
        };
        let beats = |segment: &Segment| {
            let doubles = segment.doubles.then_some(Beat::Rescale(1));
            segment.products().map(multiply).chain(doubles).collect::<Vec<_>>()
        };
        self.segments.iter().flat_map(beats).collect()
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

impl<S: PeSum<Operand = i64>> Parts<'_, S> {
    /// Same as [`Products::row`].
    #[must_use]
    pub fn row(&self, left: &[[i16; 2]]) -> Vec<(i128, bool)> {
        let (first, others) = self.parts.split_first().expect("a table has an entry");
        let mut sums = first.row(left);
        for part in others {
            let doubles = part.segments.last().is_some_and(|segment| segment.doubles);
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
