//! Processing element of Tender's systolic arrays: one multiply-accumulate a cycle, and a rescale of the accumulator
//! between two channel groups.
//!
//! Operands carry their sign: a signed nibble is sign-extended by one bit, an unsigned one (attention scores, the low
//! half of an 8-bit operand) zero-extended, where it enters the array. So one multiplier serves all modes.
//!
//! A rescale takes the bubble that the controller puts between two groups. The product is zero there, and doubling is
//! one more addition: the accumulator itself takes the place of the product. That is `rescale = adder`, which costs
//! about one gate a product bit. `shifter` shifts by up to `max_shift` places in one bubble; `factor` multiplies by any
//! integer that fits an operand, one digit of the accumulator a cycle, through the PE's multiplier.
//!
//! Drain: a row of PEs is a shift register to the right. With `drain = double` the sum moves to a register of its own,
//! one cycle after the last step, and waits there for the rest of its row; the PE goes on with the next tile. With
//! `drain = single` the accumulators shift.

use crate::lang::{
    About, Block, In, InOption, Module, Out, OutOption, Signal, Timing, Type, bit, bits_for, cat, choices, mux,
    parameters, ports, sint, uint,
};

mod catalog;
mod properties;

choices! {
    /// How the accumulator is rescaled between groups.
    pub enum Rescale {
        /// Not at all: a plain PE, the yardstick of the others.
        None,
        /// acc + acc, through the adder of the products.
        Adder,
        /// acc << n, n up to `max_shift`, in front of the adder.
        Shifter,
        /// acc x alpha, alpha from the activation input, in `accumulator_width / operand_width` cycles.
        Factor,
    }
}

choices! {
    /// What the accumulator does when a sum does not fit.
    pub enum Overflow {
        /// Keeps the low bits, and says so.
        Wrap,
        /// Keeps the nearest value, and says so.
        Saturate,
    }
}

choices! {
    /// How sums leave.
    pub enum Drain {
        /// The accumulators shift; the next tile waits.
        Single,
        /// Registers beside the accumulators shift; the next tile runs.
        Double,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct TenderPe {
        /// Width of an activation and of a weight in bits, without the bit that carries its sign.
        operand_width: u32 = 4, in 2..=16, tag "w";
        /// Width of the accumulator in bits, signed.
        accumulator_width: u32 = 32, in 6..=64,
            note "at least 2 x operand_width + 2; with rescale = factor a multiple of operand_width", tag "a";
        /// How the accumulator is rescaled: not, acc + acc, acc << n, acc x any integer of operand_width bits.
        rescale: Rescale = Rescale::Adder, tag "";
        /// Largest shift of one bubble, in places.
        max_shift: u32 = 1, in 1..=7, note "1 unless rescale = shifter";
        /// What a sum does that does not fit.
        overflow: Overflow = Overflow::Wrap;
        /// Sums leave from the accumulators, or from registers beside them while the next tile runs.
        drain: Drain = Drain::Double, tag "";
    }
    rules = |p, rules| {
        // So that a sum can only overflow from the outer quarters of the range; see `Step`.
        let least = 2 * p.operand_width + 2;
        let allowed = format!("2 x operand_width + 2 = {least} to 64");
        rules.demand(p.accumulator_width >= least, "accumulator_width", p.accumulator_width, allowed);
        let digits = p.rescale != Rescale::Factor || p.accumulator_width.is_multiple_of(p.operand_width);
        let allowed = format!("with rescale = factor: a multiple of operand_width = {}", p.operand_width);
        rules.demand(digits, "accumulator_width", p.accumulator_width, allowed);
        let shifts = p.rescale == Rescale::Shifter || p.max_shift == 1;
        rules.demand(shifts, "max_shift", p.max_shift, "1 unless rescale = shifter");
    };
}

ports! {
    /// Ports of [`TenderPe`].
    pub struct TenderPePorts(p: &TenderPe) {
        /// First step of a tile, at any time: the accumulator starts from zero.
        first_i: In = bit(),
        /// Places to shift by (one bit with `adder`), or that this is a cycle of a multiplication by alpha.
        rescale_i: InOption = uint(p.rescale_width()).when(p.rescale != Rescale::None),
        /// Last cycle of a multiplication by alpha.
        rescale_last_i: InOption = bit().when(p.rescale == Rescale::Factor),
        /// Last step of a tile: with double drain the sum behind it is kept for the drain.
        last_i: In = bit(),
        /// Activation from the left neighbour, or alpha.
        act_i: In = sint(p.operand_width + 1),
        /// Weight from the neighbour above.
        weight_i: In = sint(p.operand_width + 1),
        /// The row starts to shift its sums out.
        drain_i: In = bit(),
        /// Sum of the left neighbour.
        result_i: In = sint(p.accumulator_width),
        /// Its overflow flag.
        overflow_i: In = bit(),
        /// `first_i`, one cycle later.
        first_o: Out = bit(),
        /// `rescale_i`, one cycle later.
        rescale_o: OutOption = uint(p.rescale_width()).when(p.rescale != Rescale::None),
        /// `rescale_last_i`, one cycle later.
        rescale_last_o: OutOption = bit().when(p.rescale == Rescale::Factor),
        /// `last_i`, one cycle later.
        last_o: Out = bit(),
        /// `act_i`, one cycle later.
        act_o: Out = sint(p.operand_width + 1),
        /// `weight_i`, one cycle later.
        weight_o: Out = sint(p.operand_width + 1),
        /// The accumulator (`single`), or the register beside it (`double`); unknown until the first tile.
        result_o: Out = sint(p.accumulator_width),
        /// Some step of the sum in `result_o` did not fit; moves with it.
        overflow_o: Out = bit(),
    }
}

impl TenderPe {
    /// Width of `rescale_i`.
    #[must_use]
    pub fn rescale_width(&self) -> u32 {
        bits_for(u64::from(self.max_shift))
    }

    /// Cycles that one rescale takes.
    #[must_use]
    pub fn rescale_cycles(&self) -> u32 {
        match self.rescale {
            Rescale::None => 0,
            Rescale::Adder | Rescale::Shifter => 1,
            Rescale::Factor => self.accumulator_width / self.operand_width,
        }
    }

    fn acc_type(&self) -> Type {
        sint(self.accumulator_width)
    }
}

/// The next accumulator, and whether it is not the exact value.
struct Step {
    acc: Signal,
    overflows: Signal,
}

impl Block for TenderPe {
    type Ports = TenderPePorts;
    const ABOUT: About = About {
        name: "tender_pe",
        summary: "one multiply-accumulate a cycle, and a rescale of the accumulator between channel groups",
        contract: "acc' = (first_i ? 0 : acc) x rescale + act_i x weight_i; in a rescale cycle the product must be 0.\n\
            rescale = 2^rescale_i (adder, shifter). \
            factor: accumulator_width / operand_width cycles in a row with rescale_i and act_i = alpha, \
            0 to 2^operand_width - 1, the last one with rescale_last_i, give acc x alpha.\n\
            An acc' outside of accumulator_width bits wraps or saturates, and sets the flag until the next first_i.\n\
            single: result_o = acc; from drain_i until the next first_i, acc' = result_i.\n\
            double: result_o = the sum from the cycle after it is complete until drain_i; from then on result_i, \
            one cycle later. A second sum that completes before drain_i takes the place of the first one.\n\
            first_i may come in any cycle: it drops the sum, its flag, and a multiplication by alpha that has not ended. A \
            product in a rescale cycle, or a multiplication that breaks off otherwise, spoils the sum up to the next first_i \
            and nothing else.\n\
            Reset drops the controls on their way and sums that wait or move; the sum is unknown until the next first_i.",
        reference: "Tender, section IV-B and figure 6(c)",
    };

    fn build(&self, m: &mut Module, io: &TenderPePorts) {
        let acc = m.reg("acc_q", self.acc_type());
        let overflow = m.reg("overflow_q", bit());
        let base = m.wire("base", mux(!io.first_i, acc.q, 0));
        let step = match self.rescale {
            Rescale::Factor => self.multiply(m, io, base),
            _ => self.accumulate(m, io, base),
        };
        let flag = m.wire("overflow", (overflow.q & !io.first_i) | step.overflows);
        let last = m.reg_init("last_q", bit(), 0);
        last.next(io.last_i);
        match self.drain {
            Drain::Single => {
                let draining = m.reg_init("draining_q", bit(), 0);
                let shift = m.wire("shift", (draining.q | io.drain_i) & !io.first_i);
                draining.next(shift);
                acc.next(mux(shift, io.result_i, step.acc));
                overflow.next(mux(shift, io.overflow_i, flag));
                m.connect(io.result_o, acc.q);
                m.connect(io.overflow_o, overflow.q);
            }
            Drain::Double => {
                acc.next(step.acc);
                overflow.next(flag);
                // The rest of the row may be working still: a sum waits until all can move.
                let holds = m.reg_init("holds_q", bit(), 0);
                holds.next(last.q | (holds.q & !io.drain_i));
                let moves = m.wire("moves", last.q | io.drain_i | !holds.q);
                let result = m.reg("result_q", self.acc_type());
                let result_overflow = m.reg("result_overflow_q", bit());
                result.next_when(moves, mux(last.q, acc.q, io.result_i));
                result_overflow.next_when(moves, mux(last.q, overflow.q, io.overflow_i));
                m.connect(io.result_o, result.q);
                m.connect(io.overflow_o, result_overflow.q);
            }
        }
        m.connect(io.last_o, last.q);
        let first = m.reg_init("first_q", bit(), 0);
        first.next(io.first_i);
        m.connect(io.first_o, first.q);
        for (name, input, output) in
            [("rescale_q", io.rescale_i, io.rescale_o), ("rescale_last_q", io.rescale_last_i, io.rescale_last_o)]
        {
            if let (Some(input), Some(output)) = (input, output) {
                let passed = m.reg_init(name, input.ty(), 0);
                passed.next(input);
                m.connect(output, passed.q);
            }
        }
        for (name, input, output) in [("act_q", io.act_i, io.act_o), ("weight_q", io.weight_i, io.weight_o)] {
            let passed = m.reg(name, input.ty());
            passed.next(input);
            m.connect(output, passed.q);
        }
        self.properties(m, io, acc.q, overflow.q);
    }

    fn timing(&self) -> Timing {
        let timing = Timing::new().latency(1u32).beat(1u32);
        timing.phase("rescale", self.rescale_cycles(), "of one rescale")
    }
}

impl TenderPe {
    /// base x 2^rescale + act x weight.
    fn accumulate(&self, m: &mut Module, io: &TenderPePorts, base: Signal) -> Step {
        let width = self.accumulator_width;
        // One bit less than both operands together: the most negative extended operand does not occur.
        let product = m.wire("product", (io.act_i * io.weight_i).truncate(2 * self.operand_width + 1));
        let product = product.extend(width);
        let (left, addend, lost) = match (self.rescale, io.rescale_i) {
            (Rescale::Adder, Some(rescale)) => {
                m.comment("A rescale is acc + acc: the product is zero then.");
                (base, m.wire("addend", product | (base & rescale.repeat(width).as_sint())), None)
            }
            (Rescale::Shifter, Some(rescale)) => {
                let shifted = m.wire("shifted", base.shl_by(rescale));
                (shifted, product, Some(shifted.shr_by(rescale).ne(base)))
            }
            _ => (base, product, None),
        };
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

    /// The same, and base x alpha digit by digit: the lowest digit times alpha, plus what the digit before carried,
    /// gives a digit that enters at the top while the accumulator moves down. After all digits each is back in place.
    fn multiply(&self, m: &mut Module, io: &TenderPePorts, base: Signal) -> Step {
        let (digit_width, width) = (self.operand_width, self.accumulator_width);
        let (Some(rescale), Some(ends)) = (io.rescale_i, io.rescale_last_i) else {
            return self.accumulate(m, io, base);
        };
        // The highest digit carries the sign of the accumulator.
        let sign = m.wire("digit_sign", ends & base.bit(digit_width - 1));
        let digit = cat(&[sign, base.slice(0..digit_width)]).as_sint();
        let factor = m.wire("factor", mux(rescale, digit, io.weight_i));
        let product = m.wire("product", (io.act_i * factor).truncate(2 * digit_width + 1));
        let carry = m.reg_init("carry_q", uint(digit_width), 0);
        // What an aborted multiplication left over must not reach the next one.
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
