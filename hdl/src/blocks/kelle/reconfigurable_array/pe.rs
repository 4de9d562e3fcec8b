//! Processing element of the reconfigurable array: one product a cycle, passed down or to the right.

use crate::lang::{About, Block, In, Module, Out, Signal, Timing, bit, cat, mux, parameters, ports, sint, uint};

parameters! {
    /// Elaboration parameters.
    pub struct ReconfigurablePe {
        /// Width of an activation and of a weight in bits.
        operand_width: u32 = 8, in 2..=16, tag "w";
        /// Width of a partial sum in bits, signed.
        partial_width: u32 = 22, in 5..=64, note "at least 2 x operand_width + 1", tag "p";
    }
    rules = |p, rules| {
        let least = 2 * p.operand_width + 1;
        let allowed = format!("2 x operand_width + 1 = {least} to 64");
        rules.demand(p.partial_width >= least, "partial_width", p.partial_width, allowed);
    };
}

ports! {
    /// Ports of [`ReconfigurablePe`].
    pub struct ReconfigurablePePorts(p: &ReconfigurablePe) {
        /// The weight that waits is replaced.
        load_i: In = bit(),
        /// By this one.
        weight_i: In = uint(p.operand_width),
        /// From this product on, the weight that waits works.
        swap_i: In = bit(),
        /// Activations come from above and partial sums from the left, not the other way round.
        transposed_i: In = bit(),
        /// The activation is signed.
        act_signed_i: In = bit(),
        /// The weight is signed.
        weight_signed_i: In = bit(),
        /// Activation of the left neighbour.
        act_left_i: In = uint(p.operand_width),
        /// Activation of the neighbour above.
        act_above_i: In = uint(p.operand_width),
        /// Partial sum of the left neighbour.
        partial_left_i: In = sint(p.partial_width),
        /// Partial sum of the neighbour above.
        partial_above_i: In = sint(p.partial_width),
        /// The activation, one cycle later.
        act_o: Out = uint(p.operand_width),
        /// The partial sum with this product, one cycle later.
        partial_o: Out = sint(p.partial_width),
    }
}

impl Block for ReconfigurablePe {
    type Ports = ReconfigurablePePorts;
    const ABOUT: About = About {
        name: "reconfigurable_pe",
        summary: "weight-stationary multiply-accumulate whose sums pass down, or to the right",
        contract: "w = swap_i ? the weight that waits : the weight at work, which it becomes. After an edge:\n\
            partial_o = (transposed_i ? partial_left_i : partial_above_i) + act x w, act_o = act = transposed_i ?\n\
            act_above_i : act_left_i, of the values before it. load_i replaces the weight that waits, also in the\n\
            cycle in which the one before it begins to work.",
        reference: "Kelle, section 5.2",
    };

    fn build(&self, m: &mut Module, io: &ReconfigurablePePorts) {
        let operand = uint(self.operand_width);
        let waiting = m.reg("waiting_q", operand);
        let working = m.reg("working_q", operand);
        waiting.next_when(io.load_i, io.weight_i);
        let weight = m.wire("weight", mux(io.swap_i, waiting.q, working.q));
        working.next(weight);
        let act = m.wire("act", mux(io.transposed_i, io.act_above_i, io.act_left_i));
        let act_q = m.reg("act_q", operand);
        act_q.next(act);
        let extended = |value: Signal, signed: Signal| cat(&[signed & value.msb(), value]).as_sint();
        let product = extended(act, io.act_signed_i) * extended(weight, io.weight_signed_i);
        let product = m.wire("product", product.truncate(2 * self.operand_width + 1));
        let before = m.wire("partial", mux(io.transposed_i, io.partial_left_i, io.partial_above_i));
        let partial = m.reg("partial_q", sint(self.partial_width));
        partial.next(before.wrapping_add(product.extend(self.partial_width)));
        m.connect(io.act_o, act_q.q);
        m.connect(io.partial_o, partial.q);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
