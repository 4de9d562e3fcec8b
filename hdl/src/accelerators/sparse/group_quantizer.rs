//! From a wide integer to the narrow one of its channel group, whose scale is a power of two.

use crate::lang::{About, Block, In, Module, Out, Timing, bit, parameters, ports, sint, uint};

parameters! {
    /// Elaboration parameters.
    pub struct GroupQuantizer {
        /// Width of a value in bits, signed.
        activation_width: u32 = 16, in 2..=24, tag "a";
        /// Width of an integer in bits, signed.
        operand_width: u32 = 4, in 2..=8, note "at most activation_width", tag "w";
        /// Width of a shift in bits.
        shift_width: u32 = 3, in 1..=4, tag "g";
    }
    rules = |p, rules| {
        let allowed = format!("2 to activation_width = {}", p.activation_width);
        rules.demand(p.operand_width <= p.activation_width, "operand_width", p.operand_width, allowed);
    };
}

ports! {
    /// Ports of [`GroupQuantizer`].
    pub struct GroupQuantizerPorts(p: &GroupQuantizer) {
        /// The value, in units of the finest group.
        value_i: In = sint(p.activation_width),
        /// The group's unit is 2^shift of the finest unit.
        shift_i: In = uint(p.shift_width),
        /// The value in units of the group.
        integer_o: Out = sint(p.operand_width),
    }
}

impl Block for GroupQuantizer {
    type Ports = GroupQuantizerPorts;
    const ABOUT: About = About {
        name: "group_quantizer",
        summary: "a wide integer in the unit of its channel group",
        contract: "In the same cycle: integer_o = value_i / 2^shift_i, rounded to nearest, ties to even, saturated.",
        reference: "Tender, section III-B",
    };

    fn build(&self, m: &mut Module, io: &GroupQuantizerPorts) {
        let most = (1 << self.shift_width) - 1;
        // As many places below the point as the largest shift needs.
        let scaled = m.wire("scaled", io.value_i.shl(most).shr_by(io.shift_i));
        let whole = m.wire("whole", scaled.shr(most));
        let half = m.wire("half", scaled.bit(most - 1));
        let below = if most > 1 { scaled.slice(0..most - 1).any() } else { bit().lit(0) };
        let up = m.wire("up", half & (below | whole.bit(0)));
        let rounded = m.wire("rounded", whole + up.extend(2).as_sint());
        m.connect(io.integer_o, rounded.saturate(self.operand_width));
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}
