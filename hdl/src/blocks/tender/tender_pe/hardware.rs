//! A PE put together.

use super::drain::RowOfSums;
use super::step::Arriving;
use super::{Drain, Multiplier, Rescale, TenderPe, TenderPePorts};
use crate::blocks::tender::mesh_pe::MeshPe;
use crate::lang::{About, Block, Module, Timing, bit, mux};

impl Block for TenderPe {
    type Ports = TenderPePorts;
    const ABOUT: About = About {
        name: "tender_pe",
        summary: "one multiply-accumulate a cycle, and a rescale of the accumulator between channel groups",
        contract: "acc' = (first_i ? 0 : acc) x rescale + act_i x weight_i; in a rescale cycle the product must be\n\
            0.\n\
            rescale = 2^rescale_i (adder, shifter). factor: accumulator_width / operand_width cycles in a row give\n\
            acc x alpha, with rescale_i, act_i = alpha from 0 to 2^operand_width - 1, and rescale_last_i in the\n\
            last cycle.\n\
            An acc' outside of accumulator_width bits wraps or saturates, and sets the flag until the next first_i.\n\
            pipelined: a step reaches acc one cycle later than its operands come, first_i and last_i with it;\n\
            drain_i, result_i and the outputs to the neighbours do not wait.\n\
            single: result_o = acc; from drain_i until the next first_i, acc' = result_i.\n\
            double: result_o = the sum from the cycle after it is complete until drain_i; from then on result_i,\n\
            one cycle later. A second sum that completes before drain_i takes the place of the first one.\n\
            first_i may come in any cycle: it drops the sum, its flag, and a multiplication by alpha that has not\n\
            ended. A product in a rescale cycle, or a multiplication that breaks off otherwise, spoils the sum up\n\
            to the next first_i and nothing else.\n\
            Reset drops the controls on their way and sums that wait or move; the sum is unknown until the next\n\
            first_i.",
        reference: "Tender, section IV-B and figure 6(c)",
    };

    fn build(&self, m: &mut Module, io: &TenderPePorts) {
        let passed = self.passed_on(m, io);
        let acc = m.reg("acc_q", self.acc_type());
        let overflow = m.reg("overflow_q", bit());
        // The controls of the step that reaches the accumulator in this cycle.
        let (first, rescale) = if self.pipelined { (passed.first, passed.rescale) } else { (io.first_i, io.rescale_i) };
        let shift = (self.drain == Drain::Single).then(|| {
            let draining = m.reg_init("draining_q", bit(), 0);
            let shift = m.wire("shift", (draining.q | io.drain_i) & !first);
            draining.next(shift);
            shift
        });
        let mut kept = None;
        let step = match (self.rescale, io.rescale_i, io.rescale_last_i) {
            (Rescale::Factor, Some(rescale), Some(ends)) => {
                let base = m.wire("base", mux(!first, acc.q, 0));
                let step = self.multiply(m, io, base, (rescale, ends));
                step.unless(shift, io.result_i)
            }
            _ => {
                let through_adder = shift.filter(|_| self.multiplier != Multiplier::Operator);
                let starts = through_adder.map_or(first, |shift| first | shift);
                let base = m.wire("base", mux(!starts, acc.q, 0));
                let product;
                (product, kept) = self.arriving_product(m, io, through_adder);
                let neighbour = through_adder.map(|shift| (shift, io.result_i));
                let step = self.accumulate(m, base, &Arriving { rescale, product, neighbour });
                if through_adder.is_some() { step } else { step.unless(shift, io.result_i) }
            }
        };
        let before = m.wire("flag", overflow.q & !first);
        let before = shift.map_or(before, |shift| mux(shift, io.overflow_i, before));
        let flag = m.wire("overflow", before | step.overflows);
        acc.next(step.acc);
        overflow.next(flag);
        match self.drain {
            Drain::Single => {
                m.connect(io.result_o, acc.q);
                m.connect(io.overflow_o, overflow.q);
            }
            Drain::Double => {
                let complete = if self.pipelined {
                    let complete = m.reg_init("complete_q", bit(), 0);
                    complete.next(passed.last);
                    complete.q
                } else {
                    passed.last
                };
                RowOfSums::of(&Self::mesh_ports(io)).register(m, complete, (acc.q, overflow.q));
            }
        }
        self.properties(m, io, (acc.q, overflow.q), kept);
    }

    fn timing(&self) -> Timing {
        let timing = Timing::pipeline(1 + u32::from(self.pipelined));
        timing.phase("rescale", self.rescale_cycles(), "of one rescale")
    }
}
