//! Processing element of the weight-stationary array: adds its product to the partial sum that passes, and doubles it
//! where a channel group ends.

use crate::lang::{About, Block, In, Module, Out, Timing, bit, mux, parameters, ports, sint};

parameters! {
    /// Elaboration parameters.
    pub struct WsPe {
        /// Width of an activation and of a weight in bits, without the bit that carries its sign.
        operand_width: u32 = 4, in 2..=16, tag "w";
        /// Width of a partial sum in bits, signed.
        accumulator_width: u32 = 32, in 6..=64, note "at least 2 x operand_width + 2", tag "a";
    }
    rules = |p, rules| {
        // As in `tender_pe`: then only sums in the outer quarters of the range can leave it.
        let least = 2 * p.operand_width + 2;
        let allowed = format!("2 x operand_width + 2 = {least} to 64");
        rules.demand(p.accumulator_width >= least, "accumulator_width", p.accumulator_width, allowed);
    };
}

ports! {
    /// Ports of [`WsPe`].
    pub struct WsPePorts(p: &WsPe) {
        /// The weights of the column move down.
        load_i: In = bit(),
        /// Weight from above.
        weight_i: In = sint(p.operand_width + 1),
        /// Whether the row of this weight ends a group.
        doubles_i: In = bit(),
        /// Activation from the left neighbour.
        act_i: In = sint(p.operand_width + 1),
        /// Partial sum from above.
        partial_i: In = sint(p.accumulator_width),
        /// It left its range before.
        overflow_i: In = bit(),
        /// Weight that is held.
        weight_o: Out = sint(p.operand_width + 1),
        /// Whether this row ends a group.
        doubles_o: Out = bit(),
        /// `act_i`, one cycle later.
        act_o: Out = sint(p.operand_width + 1),
        /// Partial sum with this row's product.
        partial_o: Out = sint(p.accumulator_width),
        /// It left its range.
        overflow_o: Out = bit(),
    }
}

impl Block for WsPe {
    type Ports = WsPePorts;
    const ABOUT: About = About {
        name: "ws_pe",
        summary: "weight-stationary multiply-accumulate that doubles the partial sum at the end of a channel group",
        contract: "partial_o after an edge = (partial_i + act_i x weight) x (doubles ? 2 : 1) before it, modulo \
            2^accumulator_width; overflow_o = overflow_i, or one of both steps was not exact.",
        reference: "Tender, section IV-B",
    };

    fn build(&self, m: &mut Module, io: &WsPePorts) {
        let width = self.accumulator_width;
        let operand = sint(self.operand_width + 1);
        let weight = m.reg("weight_q", operand);
        let doubles = m.reg_init("doubles_q", bit(), 0);
        weight.next_when(io.load_i, io.weight_i);
        doubles.next_when(io.load_i, io.doubles_i);
        let act = m.reg("act_q", operand);
        act.next(io.act_i);
        let product = m.wire("product", (io.act_i * weight.q).truncate(2 * self.operand_width + 1));
        let sum = m.wire("sum", io.partial_i.wrapping_add(product.extend(width)));
        let outer = io.partial_i.msb() ^ io.partial_i.bit(width - 2);
        let leaves = outer & (sum.msb() ^ io.partial_i.msb());
        let doubled_leaves = doubles.q & (sum.msb() ^ sum.bit(width - 2));
        let partial = m.reg("partial_q", sint(width));
        partial.next(mux(doubles.q, sum.shl(1).truncate(width), sum));
        let overflow = m.reg("overflow_q", bit());
        overflow.next(io.overflow_i | leaves | doubled_leaves);
        m.connect(io.weight_o, weight.q);
        m.connect(io.doubles_o, doubles.q);
        m.connect(io.act_o, act.q);
        m.connect(io.partial_o, partial.q);
        m.connect(io.overflow_o, overflow.q);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
