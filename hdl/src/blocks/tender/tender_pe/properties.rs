//! Proofs of the PE (`ifdef FORMAL`): each step against exact arithmetic, written without the PE's short cuts.

use super::drain::RowOfSums;
use super::{Drain, Overflow, Rescale, TenderPe, TenderPePorts};
use crate::blocks::tender::mesh_pe::MeshPe;
use crate::lang::{Module, Signal, bit, bits_for, mux, sint, uint};

/// The step that reaches the sum in this cycle, by the ports alone.
struct Arrives {
    first: Signal,
    /// Only looked at with double drain.
    last: Option<Signal>,
    rescale: Option<Signal>,
    product: Signal,
    /// Was after the reset.
    known: Signal,
}

impl TenderPe {
    /// Whether the PE has a formal section: it is for small PEs on their own, with assumptions about their inputs.
    pub(in crate::blocks::tender) fn has_properties(&self) -> bool {
        self.operand_width <= 4 && self.accumulator_width <= 10
    }

    pub(super) fn properties(
        &self,
        m: &mut Module,
        io: &TenderPePorts,
        (acc, overflow): (Signal, Signal),
        kept: Option<Signal>,
    ) {
        if !self.has_properties() {
            return;
        }
        m.formal(|m| {
            let seen = m.reg_init("spec_seen_q", bit(), 0);
            let step = self.arrives(m, io, kept);
            seen.next(step.known);
            for (name, operand) in [("act", io.act_i), ("weight", io.weight_i)] {
                let extended = operand.bit(self.operand_width - 1) | !operand.msb();
                m.assume(&format!("{name}_is_an_extended_operand"), extended);
            }
            // An accumulator that shifts its neighbour's sum out does not accumulate.
            let shifts = m.reg_init("spec_shifts_q", bit(), 0);
            if let Some(last) = step.last {
                shifts.next(bit().lit(0));
                RowOfSums::of(&Self::mesh_ports(io)).properties(m, last, (acc, overflow));
            } else {
                shifts.next((shifts.q | io.drain_i) & !step.first);
                let neighbour = m.reg("spec_neighbour_q", io.result_i.ty());
                neighbour.next(io.result_i);
                m.assert_always("shifts_its_neighbour", !shifts.q | acc.eq(neighbour.q));
                m.cover("shifts", shifts.q & acc.eq(-1));
            }
            let start = m.wire("spec_start", mux(!step.first, acc, 0));
            match self.rescale {
                Rescale::Factor => self.product_by_digits(m, io, start, (acc, overflow), shifts.q | !seen.q),
                _ => self.exact_step(m, &step, start, (acc, overflow), seen.q & !shifts.q),
            }
        });
    }

    /// With a register after the multiplier a step arrives a cycle after it was at the ports.
    fn arrives(&self, m: &mut Module, io: &TenderPePorts, kept: Option<Signal>) -> Arrives {
        if let Some(amount) = io.rescale_i.filter(|_| self.rescale != Rescale::Factor) {
            m.assume("bubble", amount.eq(0) | io.act_i.eq(0) | io.weight_i.eq(0));
        }
        let now = Arrives {
            first: io.first_i,
            last: (self.drain == Drain::Double).then_some(io.last_i),
            rescale: io.rescale_i,
            product: io.act_i * io.weight_i,
            known: bit().lit(1),
        };
        let Some(kept) = kept else { return now };
        let mut later = |name: &str, signal: Signal| {
            let later = m.reg_init(&format!("spec_{name}_before_q"), signal.ty(), 0);
            later.next(signal);
            later.q
        };
        let step = Arrives {
            first: later("first", now.first),
            last: now.last.map(|last| later("last", last)),
            rescale: now.rescale.map(|rescale| later("rescale", rescale)),
            product: later("product", now.product),
            known: later("known", now.known),
        };
        let same = kept.extend(step.product.width()).eq(step.product);
        m.assert_always("product_is_kept", !step.known | same);
        if let Some(amount) = step.rescale {
            // The assumptions about the ports, a cycle later.
            m.assert_always("bubble_arrives", amount.eq(0) | step.product.eq(0));
        }
        step
    }

    /// acc' = start x 2^n + act x weight, and the flag tells whether it is.
    fn exact_step(&self, m: &mut Module, step: &Arrives, start: Signal, now: (Signal, Signal), checked: Signal) {
        let width = self.accumulator_width + (1 << bits_for(u64::from(self.max_shift))) + 1;
        let amount = step.rescale.unwrap_or_else(|| uint(1).lit(0));
        let scaled = m.wire("spec_scaled", start.extend(width).shl_by(amount));
        let product = m.wire("spec_product", step.product);
        let exact = m.wire("spec_sum", scaled + product);
        let value = m.reg("spec_sum_q", exact.ty());
        value.next(exact);
        let flag = m.reg("spec_flag_q", bit());
        flag.next(now.1 & !step.first);
        let rescaled = m.reg("spec_rescaled_q", bit());
        rescaled.next(amount.ne(0));
        self.as_specified(m, value.q, flag.q, now, checked);
        let leaves = checked & !flag.q & now.1;
        if self.rescale != Rescale::None {
            m.cover("a_rescale_overflows", leaves & rescaled.q);
            m.cover("a_rescale_fits", checked & !now.1 & rescaled.q & now.0.lt(-4));
        }
        m.cover("a_product_overflows", leaves & !rescaled.q);
    }

    /// After all digits: acc = start x alpha. Between rescales: acc' = start + act x weight.
    fn product_by_digits(
        &self,
        m: &mut Module,
        io: &TenderPePorts,
        start: Signal,
        now: (Signal, Signal),
        shifts: Signal,
    ) {
        let (Some(rescale), Some(ends)) = (io.rescale_i, io.rescale_last_i) else { return };
        let digits = self.rescale_cycles();
        let width = self.accumulator_width + self.operand_width + 1;
        let count = m.reg_init("spec_digit_q", uint(bits_for(u64::from(digits))), 0);
        // A tile may begin in the middle of a multiplication: with the first digit of another one, or with a product.
        let digit = m.wire("spec_digit", mux(!io.first_i, count.q, 0));
        let begins = m.wire("spec_begins", digit.eq(0));
        // The controller keeps a multiplication together, and alpha constant.
        m.assume("digits_in_a_row", begins | rescale);
        m.assume("last_digit", ends.eq(rescale & digit.eq(digits - 1)));
        m.assume("not_while_shifting", !rescale | !shifts | io.first_i);
        m.assume("alpha_is_unsigned", !rescale | !io.act_i.msb());
        // With single drain a row that starts to shift ends a multiplication, too.
        let shifted_away = match self.drain {
            Drain::Single => io.drain_i & !io.first_i,
            Drain::Double => bit().lit(0),
        };
        count.next(mux(rescale & !ends & !shifted_away, digit.wrapping_add(1), 0));
        let alpha = m.reg("spec_alpha_q", io.act_i.ty());
        alpha.next_when(rescale, io.act_i);
        m.assume("alpha_is_constant", begins | io.act_i.eq(alpha.q));
        let from = m.reg("spec_from_q", start.ty());
        from.next_when(begins, start);
        let flag = m.reg("spec_flag_q", bit());
        flag.next_when(begins, now.1 & !io.first_i);
        let factor = mux(rescale, mux(begins, start, from.q), start);
        let other = mux(rescale, io.act_i.extend(width), sint(width).lit(1));
        let product = m.wire("spec_product", (io.act_i * io.weight_i).extend(2 * width));
        let exact = m.wire("spec_sum", (factor * other).extend(2 * width) + mux(!rescale, product, 0));
        let value = m.reg("spec_sum_q", exact.ty());
        value.next(exact);
        let complete = m.reg_init("spec_complete_q", bit(), 0);
        complete.next((ends | !rescale) & (begins | rescale));
        self.as_specified(m, value.q, flag.q, now, complete.q & !shifts);
        let ended = m.reg_init("spec_ended_q", bit(), 0);
        ended.next(ends);
        m.cover("a_factor_overflows", ended.q & !shifts & !flag.q & now.1);
        let [aborted, made_up] = ["aborted", "made_up"].map(|name| m.reg_init(&format!("spec_{name}_q"), bit(), 0));
        aborted.next((aborted.q & !ends) | (io.first_i & count.q.ne(0)));
        made_up.next(aborted.q & ends);
        m.cover("a_factor_after_an_abort", made_up.q & !shifts & now.0.ne(0));
        m.cover("a_factor_fits", ended.q & !shifts & !now.1 & now.0.lt(-4));
    }

    fn as_specified(&self, m: &mut Module, exact: Signal, flag: Signal, now: (Signal, Signal), checked: Signal) {
        let width = self.accumulator_width;
        let nearest = m.wire("spec_nearest", exact.saturate(width));
        let value = match self.overflow {
            Overflow::Wrap => exact.truncate(width),
            Overflow::Saturate => nearest,
        };
        m.assert_always("sum_is_exact_or_flagged", !checked | now.0.eq(value));
        m.assert_always("flag_tells", !checked | now.1.eq(flag | nearest.ne(exact)));
    }
}
