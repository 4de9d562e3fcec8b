//! Proofs at small sizes: each lane's alignment, the rounding of a sum, that the exponent only grows, and the scale's
//! product.

use super::{BitSerialPe, BitSerialPePorts, Dot, EXTRA, Rounding, Scaled, Sum};
use crate::lang::{Module, bit, cat, mux, sint, uint};

impl BitSerialPe {
    pub(super) fn properties(&self, m: &mut Module, io: &BitSerialPePorts, (dot, sum): (&Dot, &Sum), scaled: &Scaled) {
        if self.exponent_width > 2 || self.fraction_width > 2 || self.accumulator_width > 6 || self.lanes > 2 {
            return;
        }
        m.formal(|m| {
            self.aligned(m, io, dot);
            self.rounded(m, sum.rounding);
            self.grows(m, io, (dot, sum));
            self.scaled(m, io, scaled);
        });
    }

    /// The common exponent is the largest one, and each term is its product at that exponent, rounded towards 0.
    fn aligned(&self, m: &mut Module, io: &BitSerialPePorts, dot: &Dot) {
        let (fraction, exponent, most) = (self.fraction_width, self.exponent_width, (1 << self.exponent_bits()) - 1);
        let mut met = bit().lit(0);
        for k in 0..self.lanes {
            let act = io.acts_i.at(k);
            let field = act.slice(fraction..fraction + exponent);
            let used = io.term_mantissas_i.bit(k);
            let own = mux(field.eq(0), field.ty().lit(1), field) + io.term_exponents_i.at(k);
            let own = m.wire(&format!("spec_exponent_{k}"), mux(used, own.truncate(self.exponent_bits()), 0));
            met = met | own.eq(dot.exponent);
            m.assert_always(&format!("no_exponent_beyond_{k}"), own.le(dot.exponent));
            let significand = cat(&[field.any(), act.slice(0..fraction), uint(EXTRA).lit(0)]);
            let product = mux(used, significand, significand.ty().lit(0));
            let term = dot.terms.at(k);
            let negative = act.msb() ^ io.term_signs_i.bit(k);
            let size = mux(negative, sint(term.width()).lit(0).wrapping_sub(term), term).as_uint();
            let wide = size.width() + most;
            let places = m.wire(&format!("spec_places_{k}"), dot.exponent.wrapping_sub(own));
            let least = m.wire(&format!("spec_least_{k}"), size.extend(wide).shl_by(places));
            let next = m.wire(&format!("spec_next_{k}"), size.wrapping_add(1).extend(wide).shl_by(places));
            let near = least.le(product) & next.gt(product);
            m.assert_always(&format!("term_{k}_is_rounded_towards_0"), near);
        }
        m.assert_always("the_exponent_is_that_of_a_lane", met);
    }

    /// A rounded sum differs by at most half a place, a tie is even, and no halving is for nothing.
    fn rounded(&self, m: &mut Module, Rounding { exact, rounded, halvings }: Rounding) {
        let wide = exact.width() + 3;
        let back = m.wire("spec_back", rounded.extend(wide).shl_by(halvings));
        let difference = m.wire("spec_difference", back.wrapping_sub(exact.extend(wide)));
        let twice = m.wire("spec_twice", difference.shl(1));
        let place = m.wire("spec_place", sint(wide + 1).lit(1).shl_by(halvings));
        let minus = m.wire("spec_minus", sint(wide + 1).lit(0).wrapping_sub(place));
        m.assert_always("rounded_to_nearest", twice.le(place) & twice.ge(minus));
        let tie = halvings.any() & (twice.eq(place) | twice.eq(minus));
        m.assert_always("a_tie_is_even", !tie | !rounded.bit(0));
        let fewer = m.wire("spec_fewer", halvings.wrapping_sub(1));
        let larger = exact.shr_by(fewer);
        // With one halving less it does not fit, or did only before it was rounded.
        let limit = (1i64 << (self.accumulator_width - 1)) - 1;
        let needed = larger.gt(limit) | larger.lt(-limit - 1) | larger.eq(limit);
        m.assert_always("no_halving_is_for_nothing", !halvings.any() | needed);
        m.cover(
            "a_carry_of_rounding",
            halvings.gt(1) & rounded.eq(1 << (self.accumulator_width - 2)) & larger.eq(limit),
        );
    }

    fn grows(&self, m: &mut Module, io: &BitSerialPePorts, (dot, sum): (&Dot, &Sum)) {
        let seen = m.reg_init("spec_seen_q", bit(), 0);
        seen.next(bit().lit(1));
        let (step, before) = (m.reg("spec_step_q", dot.exponent.ty()), m.reg("spec_before_q", dot.exponent.ty()));
        step.next(dot.exponent);
        before.next(mux(io.first_i, dot.exponent.ty().lit(0), sum.exponent));
        let grown = sum.exponent.ge(step.q) & sum.exponent.ge(before.q);
        m.assert_always("the_exponent_only_grows", !seen.q | sum.invalid | grown);
        m.cover(
            "an_exponent_grows_by_two",
            seen.q & !sum.invalid & sum.exponent.gt(step.q + 1) & sum.exponent.gt(before.q + 1),
        );
    }

    /// The result is the kept sum times the bits so far, as long as the sum stays.
    fn scaled(&self, m: &mut Module, io: &BitSerialPePorts, &Scaled { kept, result }: &Scaled) {
        let (bits, of) = (m.reg("spec_scale_q", uint(self.scale_width)), m.reg("spec_of_q", kept.ty()));
        let valid = m.reg_init("spec_scaled_q", bit(), 0);
        let count = m.reg_init("spec_bits_q", uint(5), 0);
        let begins = io.scale_valid_i & io.scale_first_i;
        let goes_on = io.scale_valid_i & !io.scale_first_i & kept.eq(of.q) & count.q.lt(self.scale_width);
        let shifted = bits.q.wrapping_add(bits.q).wrapping_add(io.scale_i.extend(self.scale_width));
        bits.next_when(io.scale_valid_i, mux(begins, io.scale_i.extend(self.scale_width), shifted));
        of.next_when(begins, kept);
        count.next_when(io.scale_valid_i, mux(begins, uint(5).lit(1), count.q.wrapping_add(1)));
        valid.next(begins | (valid.q & (goes_on | !io.scale_valid_i)));
        let product = m.wire("spec_product", of.q * cat(&[uint(1).lit(0), bits.q]).as_sint());
        m.assert_always("result_is_sum_times_scale", !valid.q | result.extend(product.width()).eq(product));
        m.cover("a_whole_scale", valid.q & count.q.eq(self.scale_width) & result.lt(-2));
    }
}
