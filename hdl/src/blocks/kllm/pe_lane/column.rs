//! One output column of a lane: its weight indices, their products, the sum of a beat, the sum of the column, and the
//! sum of its outliers.

use crate::blocks::common::arith::carry_save::RowSum;
use crate::blocks::common::row::{add, held, product_latency};
use crate::lang::{
    About, Array, ArrayType, Block, In, InArray, InArrayOption, InOption, Module, Out, OutOption, Signal, Timing, Type,
    bit, cat, choices, mux, parameters, ports, sint, uint,
};

choices! {
    /// Where activations and weights are multiplied.
    pub enum PairProducts {
        /// Once for each pair of centroids; pairs of indices choose.
        Lookup,
        /// For each pair of indices.
        Multiply,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct LaneColumn {
        /// Pairs a cycle.
        inputs: u32 = 16, in 1..=64, tag "n";
        /// Width of a weight index in bits.
        w_bits: u32 = 4, in 1..=4, tag "w";
        /// Width of a centroid in bits, signed.
        centroid_bits: u32 = 12, in 2..=16, tag "c";
        /// Width of the sum in bits, signed.
        sum_width: u32 = 40, in 2..=64, tag "s";
        /// What is multiplied when.
        products: PairProducts = PairProducts::Lookup, tag "";
        /// Levels between registers that are aimed at.
        levels: u32 = 20, in 12..=255, tag "l";
        /// Width of the sum of outliers in bits, signed; 0: there are none.
        outlier_width: u32 = 0, in 0..=128, tag "x", named "when set";
    }
    rules = |p, rules| {
        let looked_up = p.outlier_width == 0 || p.products == PairProducts::Lookup;
        rules.demand(looked_up, "outlier_width", p.outlier_width, "0 unless products = lookup");
    };
}

ports! {
    /// Ports of [`LaneColumn`].
    pub struct LaneColumnPorts(p: &LaneColumn) {
        /// Everything moves on; otherwise everything holds.
        enable_i: In = bit(),
        /// Weight indices of a beat.
        w_i: InArray = uint(p.w_bits).array(p.inputs),
        /// Products of the beat's activations with all weight centroids, one cycle after w_i; 0 for what is absent.
        rows_i: InArrayOption = p.rows(),
        /// Signs and magnitudes of the beat's activations, one cycle after w_i; 0 for what is absent.
        factors_i: InArrayOption = p.factors(),
        /// Weight centroids.
        centroids_i: InArrayOption = p.centroids(),
        /// One cycle after w_i: the place of the outlier, one-hot.
        place_i: InOption = uint(p.inputs).when(p.outlier_width > 0),
        /// A cycle before the beat is added: the outlier's significand times each weight centroid, as a sign with the
        /// magnitude above it; 0 where there is no outlier.
        outlier_rows_i: InArrayOption = p.outlier_rows(),
        /// With them, the power of two for all of them: 29 at most, or the addend means nothing.
        shift_i: InOption = uint(5).when(p.outlier_width > 0),
        /// The beat's sum is added.
        add_i: In = bit(),
        /// The column starts with it.
        start_i: In = bit(),
        /// It counts 16 times.
        high_i: In = bit(),
        /// The sum of the column.
        sum_o: Out = sint(p.sum_width),
        /// The sum of the column's outliers, in units of 2^-24.
        outlier_sum_o: OutOption = sint(p.outlier_width.max(1)).when(p.outlier_width > 0),
    }
}

/// Bits of an outlier's significand: fp16.
pub(super) const SIGNIFICAND: u32 = 11;
/// Places by which the significand of the largest fp16 number is above the smallest one's.
pub(super) const LARGEST_SHIFT: u32 = 29;
/// Levels of a register that can hold.
const ENABLE: u32 = 2;

/// Width of a product of two centroids of `bits` bits, neither of which is the most negative number: signed.
pub(super) fn product_width(bits: u32) -> u32 {
    2 * bits - 1
}

impl LaneColumn {
    fn codes(&self) -> u32 {
        1 << self.w_bits
    }

    fn product(&self) -> Type {
        sint(product_width(self.centroid_bits))
    }

    fn rows(&self) -> Option<ArrayType> {
        (self.products == PairProducts::Lookup).then(|| self.product().array(self.inputs * self.codes()))
    }

    fn factors(&self) -> Option<ArrayType> {
        (self.products == PairProducts::Multiply).then(|| uint(self.centroid_bits).array(self.inputs))
    }

    fn centroids(&self) -> Option<ArrayType> {
        (self.products == PairProducts::Multiply).then(|| sint(self.centroid_bits).array(self.codes()))
    }

    /// The sum of a beat fits in this many bits.
    fn beat_width(&self) -> u32 {
        self.product().width + self.inputs.next_power_of_two().trailing_zeros()
    }

    /// Rows that an input gives: its product; or multiples of a centroid and the addend that makes a complement a
    /// negative number.
    fn rows_of_input(&self) -> u32 {
        match self.products {
            PairProducts::Lookup => 1,
            PairProducts::Multiply => self.centroid_bits,
        }
    }

    fn sum(&self) -> RowSum {
        // An index is decoded, chooses, and what was chosen comes together; a factor's bit and sign.
        let chosen = self.w_bits + 3;
        let used = if self.products == PairProducts::Lookup { chosen } else { chosen + 3 };
        RowSum::new(self.inputs * self.rows_of_input(), self.beat_width(), used, self.levels - ENABLE)
    }

    /// Bits of an outlier's significand times a centroid: magnitude.
    pub(super) fn outlier_product(&self) -> u32 {
        SIGNIFICAND + self.centroid_bits - 1
    }

    fn outlier_rows(&self) -> Option<ArrayType> {
        (self.outlier_width > 0).then(|| uint(1 + self.outlier_product()).array(self.codes()))
    }

    /// Cycles of the product of a significand and a centroid.
    pub(super) fn multiplication(&self) -> u32 {
        let bits = self.centroid_bits - 1;
        product_latency(bits.max(SIGNIFICAND), bits)
    }

    /// Cycles from w_i to the cycle in which the beat's sum is added.
    pub(super) fn latency(&self) -> u32 {
        let dense = self.dense_latency();
        if self.outlier_width == 0 { dense } else { dense.max(self.multiplication() + 1) }
    }

    fn dense_latency(&self) -> u32 {
        2 + self.sum().latency()
    }
}

/// `values[index]`: AND and OR, which is smaller than a tree of multiplexers. Nets have these names.
pub(super) fn choose(m: &mut Module, (name, either): (&str, &str), index: Signal, values: &[Signal]) -> Signal {
    let ty = values[0].ty();
    let here = m.nets(name, bit(), values.len() as u32);
    m.for_each(name, values.len() as u32, |m, v| m.connect(here.at(v), index.eq(v.value(index.width()))));
    let chosen = (0u32..).zip(values).map(|(v, value)| value.as_uint() & here.at(v).repeat(ty.width)).collect();
    let chosen = any_of(m, either, chosen);
    if ty.signed { chosen.as_sint() } else { chosen }
}

/// OR of all in few levels: each pair has a name, so that it stays a tree. (Printed together, it would be a chain.)
pub(super) fn any_of(m: &mut Module, name: &str, values: Vec<Signal>) -> Signal {
    let (mut level, mut values) = (0, values);
    while values.len() > 2 {
        level += 1;
        let pair = |(i, pair): (usize, &[Signal])| match pair {
            &[a, b] => m.wire(&format!("{name}_{level}_{i}"), a | b),
            rest => rest[0],
        };
        values = values.chunks(2).enumerate().map(pair).collect();
    }
    values.into_iter().reduce(|a, b| a | b).unwrap_or_else(|| bit().lit(0))
}

impl Block for LaneColumn {
    type Ports = LaneColumnPorts;
    const ABOUT: About = About {
        name: "lane_column",
        summary: "a column of a lane: chooses, adds up, keeps the sum",
        contract: "Where add_i is high, sum_o after the edge = (start_i ? 0 : sum_o) + (high_i ? 16 : 1) * the sum\n\
            of the products of the beat whose weight indices came `latency` enabled cycles ago. outlier_sum_o adds\n\
            the product of the beat's outlier and its weight's centroid in the same way, never 16 times.",
        reference: "KLLM, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &LaneColumnPorts) {
        let w = m.regs("w", uint(self.w_bits), self.inputs);
        m.for_each("w", self.inputs, |m, i| w.next_when(m, i, io.enable_i, io.w_i.at(i)));
        let rows = match (io.rows_i, io.factors_i, io.centroids_i) {
            (Some(rows), ..) => self.chosen_products(m, rows, w.q),
            (_, Some(factors), Some(centroids)) => self.multiples(m, factors, centroids, w.q),
            _ => m.nets("none", uint(self.beat_width()), 1),
        };
        let sum = self.sum().build(m, rows, Some(io.enable_i)).as_sint();
        // Outliers may take longer.
        let sum = held(m, "sum", sum, self.latency() - self.dense_latency(), io.enable_i);
        let beat = m.reg("beat_q", sint(self.beat_width()));
        beat.next_when(io.enable_i, sum);

        m.comment("The column so far.");
        let width = self.sum_width;
        let column = m.reg("column_q", sint(width));
        let before = column.q.as_uint() & (!io.start_i).repeat(width);
        let fit = |s: Signal| if s.width() < width { s.extend(width) } else { s.truncate(width) };
        let addend = m.wire("addend", mux(io.high_i, fit(beat.q.shl(4)), fit(beat.q)));
        let next = add(m, "column", before, addend.as_uint(), false).truncate(width);
        column.next_when(io.add_i, next.as_sint());
        m.connect(io.sum_o, column.q);
        if let (Some(place), Some(rows), Some(shift), Some(sum)) =
            (io.place_i, io.outlier_rows_i, io.shift_i, io.outlier_sum_o)
        {
            let sparse = self.outliers(m, io, w.q, &Outlier { place, rows, shift });
            m.connect(sum, sparse);
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

/// The outlier of a beat.
struct Outlier {
    /// Its input, one hot.
    place: Signal,
    /// Its products with all centroids.
    rows: Array,
    shift: Signal,
}

impl LaneColumn {
    /// The sum of the outliers: the weight index of each chooses what is shifted and added.
    fn outliers(&self, m: &mut Module, io: &LaneColumnPorts, w: Array, outlier: &Outlier) -> Signal {
        let Outlier { place, rows, shift } = *outlier;
        let width = self.outlier_width;
        m.comment("The outlier's weight.");
        let here = (0..self.inputs).map(|i| w.at(i) & place.bit(i).repeat(self.w_bits)).collect();
        let here = any_of(m, "w_here", here);
        let here = held(m, "w_outlier", here, self.latency() - 2, io.enable_i);
        m.comment("Its product, as a magnitude: shifted, then added or subtracted.");
        let product = choose(m, ("is_outlier", "outlier_either"), here, &rows.elements());
        let product = m.wire("outlier_product", product);
        let mut magnitude = product.slice(1..1 + self.outlier_product());
        for bit in 0..shift.width() {
            let shifted = magnitude.shl(1 << bit);
            let same = magnitude.extend(shifted.width());
            magnitude = m.wire(&format!("shifted_{bit}"), mux(shift.bit(bit), shifted, same));
        }
        // A finite value has no more bits.
        let magnitude = magnitude.truncate(self.outlier_product() + LARGEST_SHIFT);
        let magnitude = held(m, "outlier", magnitude, 1, io.enable_i);
        let negative = held(m, "outlier_negative", product.bit(0), 1, io.enable_i);
        let sum = m.reg("outlier_sum_q", sint(width));
        let before = sum.q.as_uint() & (!io.start_i).repeat(width);
        let addend = magnitude.extend(width) ^ negative.repeat(width);
        // A complement needs one more: a carry from a place below.
        let (before, addend) = (cat(&[before, bit().lit(1)]), m.wire("outlier_addend", cat(&[addend, negative])));
        let next = add(m, "outlier", before, addend, false).slice(1..1 + width);
        sum.next_when(io.add_i, next.as_sint());
        sum.q
    }

    fn chosen_products(&self, m: &mut Module, rows: Array, w: Array) -> Array {
        let ty = uint(self.beat_width());
        let terms = m.nets("product", ty, self.inputs);
        let codes = self.codes();
        m.for_each("products", self.inputs, |m, i| {
            let row: Vec<_> = (0..codes).map(|v| rows.at(i * codes + v)).collect();
            let product = choose(m, ("is", "either"), w.at(i), &row);
            let product = m.wire("chosen", product);
            m.connect(terms.at(i), product.extend(ty.width).as_uint());
        });
        terms
    }

    /// Magnitude x centroid, a row for each bit of the magnitude. A negative activation takes the complement of the
    /// centroid, and the magnitude once more: -x c = x (-c - 1) + x.
    fn multiples(&self, m: &mut Module, factors: Array, centroids: Array, w: Array) -> Array {
        let (ty, bits, each) = (uint(self.beat_width()), self.centroid_bits - 1, self.rows_of_input());
        let terms = m.nets("multiple", ty, self.inputs * each);
        let centroids = centroids.elements();
        m.for_each("products", self.inputs, |m, i| {
            let factor = factors.at(i);
            let negative = factor.bit(bits);
            let centroid = choose(m, ("is", "either"), w.at(i), &centroids);
            let centroid = m.wire("centroid", centroid.as_uint() ^ negative.repeat(bits + 1));
            let wide = m.wire("wide", centroid.as_sint().extend(ty.width).as_uint());
            for j in 0..bits {
                let row = if j == 0 { wide } else { wide.shl(j).truncate(ty.width) };
                m.connect(terms.at(i * each + j), row & factor.bit(j).repeat(ty.width));
            }
            let once = factor.slice(0..bits) & negative.repeat(bits);
            m.connect(terms.at(i * each + bits), once.extend(ty.width));
        });
        terms
    }
}
