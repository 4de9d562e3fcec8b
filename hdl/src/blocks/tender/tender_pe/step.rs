//! The next value of the accumulator.

use super::{Overflow, Rescale, TenderPe, TenderPePorts};
use crate::lang::{Module, Signal, cat, mux, uint};

/// The next accumulator, and whether it is not the exact value.
pub(super) struct Step {
    pub(super) acc: Signal,
    pub(super) overflows: Signal,
}

impl Step {
    /// The neighbour's sum instead, where the row shifts.
    pub(super) fn unless(self, shift: Option<Signal>, neighbour: Signal) -> Self {
        let Some(shift) = shift else { return self };
        Self { acc: mux(shift, neighbour, self.acc), overflows: self.overflows & !shift }
    }
}

/// The addend that reaches the accumulator in this cycle.
pub(super) struct Arriving {
    pub(super) rescale: Option<Signal>,
    /// act x weight.
    pub(super) product: Signal,
    /// The row shifts, and this is the left neighbour's sum: nothing is added to it.
    pub(super) neighbour: Option<(Signal, Signal)>,
}

impl TenderPe {
    /// base x 2^rescale + act x weight.
    pub(super) fn accumulate(&self, m: &mut Module, base: Signal, arriving: &Arriving) -> Step {
        let width = self.accumulator_width;
        let product = arriving.product.extend(width);
        let (left, mut addend, lost) = match (self.rescale, arriving.rescale) {
            (Rescale::Adder, Some(rescale)) => {
                m.comment("A rescale is acc + acc: the product is zero then.");
                (base, m.wire("doubled", product | (base & rescale.repeat(width).as_sint())), None)
            }
            (Rescale::Shifter, Some(rescale)) => {
                let shifted = m.wire("shifted", base.shl_by(rescale));
                (shifted, product, Some(shifted.shr_by(rescale).ne(base)))
            }
            _ => (base, product, None),
        };
        if let Some((shift, sum)) = arriving.neighbour {
            m.comment("0 + the neighbour's sum: the adder is there.");
            addend = m.wire("addend", addend | (sum & shift.repeat(width).as_sint()));
        }
        let sum = m.wire("sum", left.wrapping_add(addend));
        m.comment("Products are small: only from the outer quarters of the range can a sum leave it.");
        let outer = left.msb() ^ left.bit(width - 2);
        let leaves = m.wire("leaves", outer & (sum.msb() ^ left.msb()));
        let overflows = match lost {
            Some(lost) => m.wire("overflows", leaves | lost),
            None => leaves,
        };
        Step { acc: self.fit(overflows, base.msb(), sum), overflows }
    }

    /// The same, and base x alpha digit by digit. The lowest digit times alpha, plus the carry of the digit before,
    /// gives a digit that enters at the top while the accumulator moves down. After all digits each is back in place.
    pub(super) fn multiply(
        &self,
        m: &mut Module,
        io: &TenderPePorts,
        base: Signal,
        (rescale, ends): (Signal, Signal),
    ) -> Step {
        let (digit_width, width) = (self.operand_width, self.accumulator_width);
        // The highest digit carries the sign of the accumulator.
        let sign = m.wire("digit_sign", ends & base.bit(digit_width - 1));
        let digit = cat(&[sign, base.slice(0..digit_width)]).as_sint();
        let factor = m.wire("factor", mux(rescale, digit, io.weight_i));
        let product = self.product(m, io.act_i, factor);
        let carry = m.reg_init("carry_q", uint(digit_width), 0);
        // The carry of an aborted multiplication must not reach the next one.
        let carried = m.wire("carried", mux(!io.first_i, carry.q, 0));
        let part = m.wire("part", product.wrapping_add(carried.extend(2 * digit_width + 1).as_sint()));
        carry.next(mux(rescale & !ends, part.slice(digit_width..2 * digit_width), 0));
        let turned = cat(&[part.slice(0..digit_width), base.slice(digit_width..width)]).as_sint();
        let sum = m.wire("sum", base.wrapping_add(product.extend(width)));
        let outer = base.msb() ^ base.bit(width - 2);
        let leaves = outer & (sum.msb() ^ base.msb());
        // Not a sign extension of the digit: part of the value is above it.
        let above = part.slice(digit_width - 1..2 * digit_width + 1);
        let lost = m.wire("lost", ends & above.any() & !above.all());
        let overflows = m.wire("overflows", mux(rescale, lost, leaves));
        let negative = mux(rescale, part.msb(), base.msb());
        Step { acc: self.fit(overflows, negative, mux(rescale, turned, sum)), overflows }
    }

    fn fit(&self, overflows: Signal, negative: Signal, sum: Signal) -> Signal {
        match self.overflow {
            Overflow::Wrap => sum,
            Overflow::Saturate => {
                let limit = cat(&[negative, (!negative).repeat(self.accumulator_width - 1)]).as_sint();
                mux(overflows, limit, sum)
            }
        }
    }
}
