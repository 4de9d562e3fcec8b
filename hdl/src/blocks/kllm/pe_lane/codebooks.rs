//! Codebooks, and what they give the columns: for each input of a beat a row of products, or the activation's centroid.

use super::column::{any_of, product_width};
use super::front::{Front, Mark};
use super::outliers::Factor;
use super::streams::PeLanePorts;
use super::{PairProducts, PeLane};
use crate::blocks::common::row::{add, later, product, product_held};
use crate::lang::{Array, Module, Signal, bit, cat, mux, sint, uint};

/// What the columns choose from.
pub(super) struct Choices {
    pub rows: Option<Array>,
    pub factors: Option<Array>,
    pub centroids: Option<Array>,
    pub outliers: Option<OutlierRows>,
}

/// An outlier's product with each weight centroid: sign, magnitude above it; and the power of two for all of them.
pub(super) struct OutlierRows {
    pub rows: Array,
    pub shift: Signal,
}

/// An entry as sign and magnitude.
struct Entry {
    /// It is taken.
    comes: Signal,
    /// It is an activation's entry; otherwise a weight's.
    activation: Signal,
    weight: Signal,
    index: Signal,
    negative: Signal,
    magnitude: Signal,
}

impl PeLane {
    /// `marks`: the beats on their way.
    pub(super) fn codebooks(
        &self,
        m: &mut Module,
        io: &PeLanePorts,
        front: &Front,
        (marks, enable): (&[Mark], Signal),
    ) -> Choices {
        m.comment("Entries of codebooks wait until no beat that came before them looks at one.");
        let ready = match self.products {
            // Outliers look at weights until they leave the multipliers, which they share with entries.
            PairProducts::Lookup if self.outliers > 0 => {
                let looks = m.wire(
                    "looks",
                    cat(&marks[..marks.len() - 1].iter().map(|mark| mark.valid).collect::<Vec<_>>()).any(),
                );
                !looks
            }
            PairProducts::Lookup => !front.mark.valid | enable,
            // Weights are looked up a cycle after activations.
            PairProducts::Multiply => !front.mark.valid & (!marks[1].valid | enable),
        };
        m.connect(io.codebook.ready, ready & !io.clear_i);
        let comes = m.wire("entry_comes", io.codebook.fire());
        let bits = self.centroid_bits - 1;
        let negative = m.wire("entry_negative", io.codebook.value.msb());
        let below = m.wire("entry_below", io.codebook.value.slice(0..bits) ^ negative.repeat(bits));
        // The most negative number has no magnitude of so many bits.
        let up = negative & !below.all();
        let entry = Entry {
            comes,
            activation: m.wire("activation_comes", comes & io.codebook.activation),
            weight: m.wire("weight_comes", comes & !io.codebook.activation),
            index: io.codebook.index,
            negative,
            magnitude: m.wire("entry_magnitude", below.wrapping_add(up.extend(bits))),
        };
        match self.products {
            PairProducts::Lookup => {
                let (table, outliers) = self.table(m, front, &entry, enable);
                let row = m.regs("row", table.ty().element, self.inputs << self.w_bits);
                self.look_up(m, front, table, |m, place, chosen| row.next_when(m, place, enable, chosen));
                Choices { rows: Some(row.q), factors: None, centroids: None, outliers }
            }
            PairProducts::Multiply => {
                m.connect(front.building, 0);
                let activations = m.regs("activation_centroid", uint(bits + 1), 1 << self.a_bits);
                write(m, "activation_centroids", self.a_bits, (entry.activation, entry.index), |m, here, place| {
                    activations.next_when(m, place, here, cat(&[entry.negative, entry.magnitude]));
                });
                let weights = m.regs("weight_centroid", sint(bits + 1), 1 << self.w_bits);
                let value = io.codebook.value;
                let kept =
                    m.wire("entry_value", cat(&[value.slice(1..bits + 1), value.bit(0) | (negative & below.all())]));
                write(m, "weight_centroids", self.w_bits, (entry.weight, entry.index), |m, here, place| {
                    weights.next_when(m, place, here, kept.as_sint());
                });
                let factor = m.regs("factor", uint(bits + 1), self.inputs);
                self.look_up(m, front, activations.q, |m, place, chosen| factor.next_when(m, place, enable, chosen));
                Choices { rows: None, factors: Some(factor.q), centroids: Some(weights.q), outliers: None }
            }
        }
    }

    /// The Cartesian product: an activation's entry is multiplied with all weights. The same multipliers take outliers.
    fn table(&self, m: &mut Module, front: &Front, entry: &Entry, enable: Signal) -> (Array, Option<OutlierRows>) {
        let (rows, codes, bits) = (1u32 << self.a_bits, 1u32 << self.w_bits, self.centroid_bits - 1);
        let weights = m.regs("weight_centroid", uint(bits + 1), codes);
        write(m, "weight_centroids", self.w_bits, (entry.weight, entry.index), |m, here, place| {
            weights.next_when(m, place, here, cat(&[entry.negative, entry.magnitude]));
        });
        m.comment("Products of an activation's centroid with all weights.");
        let latency = self.multiplication();
        let line = m.reg_init("row_comes_q", uint(latency), 0);
        line.next(if latency == 1 { entry.activation } else { cat(&[line.q.slice(0..latency - 1), entry.activation]) });
        m.connect(front.building, line.q.any());
        let outlier = front.outlier.map(|outlier| self.factor(m, outlier, (entry.comes, entry.magnitude), enable));
        let moves = outlier.as_ref().map(|_| m.wire("multipliers_move", enable | entry.comes | line.q.any()));
        let index = later(m, "row_index", entry.index, latency);
        let ty = sint(product_width(self.centroid_bits));
        let table = m.regs("product", ty, rows * codes);
        let outlier_rows =
            outlier.as_ref().map(|_| m.nets("outlier_row", uint(1 + self.column().outlier_product()), codes));
        m.for_each("products", codes, |m, v| {
            let weight = weights.q.at(v);
            let negative = later(m, "negative", weight.msb() ^ entry.negative, latency);
            let magnitude = weight.slice(0..bits);
            let product = match (&outlier, moves) {
                (Some(Factor { factor, .. }), Some(moves)) if factor.width() > bits => {
                    product_held(m, "magnitude", (*factor, magnitude), moves)
                }
                (Some(Factor { factor, .. }), Some(moves)) => product_held(m, "magnitude", (magnitude, *factor), moves),
                _ => product(m, "magnitude", magnitude, entry.magnitude),
            };
            let of_entry = product.truncate(2 * bits);
            let opposite = add(m, "opposite", of_entry.ty().lit(0), of_entry, true).truncate(ty.width);
            let signed = m.wire("row_product", mux(negative, opposite, of_entry.extend(ty.width)).as_sint());
            write(m, "table", self.a_bits, (line.q.msb(), index), |m, here, place| {
                table.next_when(m, place * codes + v, here, signed);
            });
            if let (Some(rows), Some(outlier)) = (outlier_rows, &outlier) {
                let magnitude = product.truncate(self.column().outlier_product());
                m.connect(rows.at(v), cat(&[magnitude, weight.msb() ^ outlier.negative]));
            }
        });
        let outliers = outlier_rows.zip(outlier).map(|(rows, outlier)| OutlierRows { rows, shift: outlier.shift });
        (table.q, outliers)
    }

    /// For each input of a beat, the one of `values` that its index chooses, or 0 if the input is absent. One after the
    /// other, if there are several values an index.
    fn look_up(
        &self,
        m: &mut Module,
        front: &Front,
        values: Array,
        keep: impl Fn(&mut Module, crate::lang::Index, Signal),
    ) {
        let rows = 1u32 << self.a_bits;
        let each = values.count() / rows;
        let ty = values.ty().element;
        m.comment("What the indices of a beat choose, for all columns.");
        m.for_each("inputs", self.inputs, |m, i| {
            let here = m.nets("here", bit(), rows);
            m.for_each("here", rows, |m, r| {
                m.connect(here.at(r), front.present.at(i) & front.index.at(i).eq(r.value(self.a_bits)));
            });
            m.for_each("codes", each, |m, v| {
                let chosen: Vec<_> =
                    (0..rows).map(|r| values.at(v + r * each).as_uint() & here.at(r).repeat(ty.width)).collect();
                let chosen = any_of(m, "either", chosen);
                keep(m, i * each + v, if ty.signed { chosen.as_sint() } else { chosen });
            });
        });
    }
}

/// Writes the one of 2^`bits` registers that `index` names. Higher bits of the index do not count.
fn write(
    m: &mut Module,
    name: &str,
    bits: u32,
    (enable, index): (Signal, Signal),
    to: impl Fn(&mut Module, Signal, crate::lang::Index),
) {
    m.for_each(name, 1 << bits, |m, place| {
        let here = m.wire(&format!("{name}_written"), enable & index.truncate(bits).eq(place.value(bits)));
        to(m, here, place);
    });
}
