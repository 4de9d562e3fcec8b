//! Products of a step, aligned to the largest exponent and added.

use super::{BitSerialPe, BitSerialPePorts, Dot, EXTRA};
use crate::blocks::common::arith::adder_tree;
use crate::lang::{Module, bit, cat, mux, reduce, sint, uint};

impl BitSerialPe {
    pub(super) fn dot_product(&self, m: &mut Module, io: &BitSerialPePorts) -> Dot {
        let (fraction, exponent, sum_exponent) = (self.fraction_width, self.exponent_width, self.exponent_bits());
        let exponents = m.nets("lane_exponent", uint(sum_exponent), self.lanes);
        let specials = m.nets("special_lane", bit(), self.lanes);
        m.for_each("exponents", self.lanes, |m, k| {
            let field = m.wire("field", io.acts_i.at(k).slice(fraction..fraction + exponent));
            let used = m.wire("used", io.term_mantissas_i.slice_at(k, 1));
            m.comment("The least exponent is also the exponent of subnormals. A term that is 0 has none.");
            let of_act = cat(&[field.slice(1..exponent), field.bit(0) | !field.any()]);
            let sum = (of_act + io.term_exponents_i.at(k).extend(exponent.max(2))).truncate(sum_exponent);
            m.connect(exponents.at(k), mux(used, sum, uint(sum_exponent).lit(0)));
            m.connect(specials.at(k), used & field.all());
        });
        let all = exponents.elements();
        let largest = reduce(&all, |a, b| mux(a.ge(b), a, b)).unwrap_or(all[0]);
        let largest = m.wire("largest", largest);
        let width = 1 + fraction + EXTRA;
        let terms = m.nets("term", sint(width + 1), self.lanes);
        m.for_each("products", self.lanes, |m, k| {
            let act = io.acts_i.at(k);
            let normal = act.slice(fraction..fraction + exponent).any();
            let used = io.term_mantissas_i.slice_at(k, 1);
            let significand = cat(&[normal, act.slice(0..fraction), uint(EXTRA).lit(0)]);
            let product = m.wire("product", mux(used, significand, uint(width).lit(0)));
            let places = m.wire("places", largest.wrapping_sub(exponents.at(k)));
            let aligned = m.wire("aligned", product.shr_by(places));
            let negative = act.msb() ^ io.term_signs_i.slice_at(k, 1);
            let positive = aligned.extend(width + 1).as_sint();
            m.connect(terms.at(k), mux(negative, sint(width + 1).lit(0).wrapping_sub(positive), positive));
        });
        let mantissa = adder_tree(m, "sum", terms, |_| sint(self.dot_width()));
        let mantissa = m.wire("dot", mantissa.extend(self.dot_width()));
        let special = m.wire("special", specials.packed().any());
        Dot { terms, mantissa, exponent: largest, special }
    }
}
