//! The group's sum: one exponent that grows with it, and a mantissa that is rounded when it does.

use super::{BitSerialPe, BitSerialPePorts, Dot, MOST_SIGNIFICANT, Rounding, Sum};
use crate::lang::{Module, Signal, bit, bits_for, mux, select, sint, uint};

impl BitSerialPe {
    pub(super) fn accumulate(&self, m: &mut Module, io: &BitSerialPePorts, dot: &Dot) -> Sum {
        let (width, exponent_bits) = (self.accumulator_width, self.exponent_bits());
        let mantissa = m.reg("acc_q", sint(width));
        let exponent = m.reg("exponent_q", uint(exponent_bits));
        let invalid = m.reg("invalid_q", bit());
        let base = m.wire("base", mux(io.first_i, sint(width).lit(0), mantissa.q));
        let base_exponent = m.wire("base_exponent", mux(io.first_i, uint(exponent_bits).lit(0), exponent.q));
        let wide = self.sum_width() - 1;
        let counted = dot.mantissa.extend(wide.max(self.dot_width() + MOST_SIGNIFICANT)).shl_by(io.significance_i);
        let counted = m.wire("counted", counted.extend(wide));
        m.comment("The one with the smaller exponent is shifted.");
        let grows = m.wire("grows", dot.exponent.gt(base_exponent));
        let [larger, smaller] =
            [(dot.exponent, base_exponent), (base_exponent, dot.exponent)].map(|(yes, no)| mux(grows, yes, no));
        let common = m.wire("common", larger);
        let places = m.wire("apart", common.wrapping_sub(smaller));
        let base_wide = base.extend(wide);
        let stays = m.wire("stays", mux(grows, counted, base_wide));
        let moved = m.wire("moved", mux(grows, base_wide, counted).shr_by(places));
        let sum = m.wire("exact", stays + moved);
        let rounding = self.round(m, sum);
        let grown = m.wire("grown", common + rounding.halvings);
        let next_exponent = m.wire("next_exponent", grown.truncate(exponent_bits));
        let too_large = grown.slice(exponent_bits..grown.width()).any();
        let flag = m.wire("invalid", dot.special | too_large | (invalid.q & !io.first_i));
        mantissa.next(rounding.rounded);
        exponent.next(next_exponent);
        invalid.next(flag);
        Sum { rounding, mantissa: mantissa.q, exponent: exponent.q, invalid: invalid.q }
    }

    /// Width of the sum of a step and the group, before it is rounded.
    fn sum_width(&self) -> u32 {
        (self.dot_width() + MOST_SIGNIFICANT).max(self.accumulator_width) + 1
    }

    /// As few halvings as make the sum fit, rounded once.
    fn round(&self, m: &mut Module, sum: Signal) -> Rounding {
        let (width, all) = (self.accumulator_width, self.sum_width());
        let most = all - width;
        let count_ty = uint(bits_for(u64::from(most) + 1));
        m.comment("The highest bit that is not the sign says how often it is halved.");
        let cases: Vec<_> =
            (0..most).map(|k| (sum.bit(all - 2 - k) ^ sum.msb(), count_ty.lit(u64::from(most - k)))).collect();
        let halvings = m.wire("halvings", select(&cases, count_ty.lit(0)));
        m.comment("A bit below for rounding, and whether any below that is set.");
        let mut value = m.wire("shift_0", sum.shl(1));
        let mut lost = bit().lit(0);
        for k in 0..bits_for(u64::from(most)) {
            let places = 1u32 << k;
            let chosen = halvings.bit(k);
            lost = lost | (chosen & value.slice(0..places.min(all)).any());
            let shifted = value.shr(places.min(all)).extend(all + 1);
            value = m.wire(&format!("shift_{}", k + 1), mux(chosen, shifted, value));
        }
        let lost = m.wire("lost", lost);
        let kept = value.slice(1..1 + width).as_sint();
        let up = m.wire("up", value.bit(0) & (lost | kept.bit(0)));
        let rounded = m.wire("rounded", (kept + up.extend(2).as_sint()).truncate(width + 1));
        m.comment("Rounding up may need one more place: then the sum is a power of two.");
        let carried = m.wire("carried", rounded.msb() ^ rounded.bit(width - 1));
        let result = mux(carried, rounded.shr(1), rounded.truncate(width));
        let count = m.wire("count", halvings.wrapping_add(carried.extend(count_ty.width)));
        Rounding { exact: sum, rounded: m.wire("fitting", result), halvings: count }
    }
}
