//! Accumulator at the edge of the reconfigurable array: adds up the bytes of operands, and the panels of a long sum.

use crate::lang::{
    About, Block, In, Module, Out, Signal, Timing, bit, cat, index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ByteAccumulator {
        /// Width of a byte of an operand in bits.
        operand_width: u32 = 8, in 2..=16, tag "w";
        /// Width of a partial sum in bits, signed.
        partial_width: u32 = 22, in 5..=64, tag "p";
        /// Width of a sum in bits, signed.
        accumulator_width: u32 = 48, in 9..=96, note "at least partial_width + 2 x operand_width", tag "a";
        /// Sums that are kept.
        depth: u32 = 64, in 2..=65_536, tag "d";
    }
    rules = |p, rules| {
        let least = p.partial_width + 2 * p.operand_width;
        let allowed = format!("partial_width + 2 x operand_width = {least} to 96");
        rules.demand(p.accumulator_width >= least, "accumulator_width", p.accumulator_width, allowed);
    };
}

ports! {
    /// Ports of [`ByteAccumulator`].
    pub struct ByteAccumulatorPorts(p: &ByteAccumulator) {
        /// Drops partial sums on their way.
        clear_i: In = bit(),
        /// A partial sum comes in the next cycle.
        valid_i: In = bit(),
        /// It comes from the left.
        transposed_i: In = bit(),
        /// The sum begins with it.
        first_i: In = bit(),
        /// The sum is complete with it.
        last_i: In = bit(),
        /// It counts 2^(operand_width x place); 3 is taken as 2.
        place_i: In = uint(2),
        /// Number of the sum.
        index_i: In = uint(index_width(p.depth.into())),
        /// Partial sum from above, one cycle after the inputs before.
        above_i: In = sint(p.partial_width),
        /// Partial sum from the left, in that cycle too.
        left_i: In = sint(p.partial_width),
        /// A sum is complete.
        result_valid_o: Out = bit(),
        /// It is the sum of a transposed product; with result_valid_o.
        transposed_o: Out = bit(),
        /// The sum; with result_valid_o.
        result_o: Out = sint(p.accumulator_width),
        /// The sum left its range at some step, or its number does not exist; with result_valid_o.
        overflow_o: Out = bit(),
    }
}

impl Block for ByteAccumulator {
    type Ports = ByteAccumulatorPorts;
    const ABOUT: About = About {
        name: "byte_accumulator",
        summary: "sums of partial sums that count as their bytes do",
        contract: "sum[index] = (first ? 0 : sum[index]) + partial x 2^(operand_width x place), modulo\n\
            2^accumulator_width, one a cycle, any index after any other. The flag stays up from the first sum on\n\
            that was not exact; an index that is not below depth is flagged, and its sum means nothing. clear_i and\n\
            reset drop partial sums on their way; a sum is unknown until its first partial sum.",
        reference: "Kelle, section 5.2",
    };

    fn build(&self, m: &mut Module, io: &ByteAccumulatorPorts) {
        let width = self.accumulator_width;
        let ram = m.memory("sums", self.depth, width + 1, width + 1);
        let kept = ram.read("kept", io.valid_i, io.index_i);
        let pass = |m: &mut Module, name: &str, input: Signal| {
            let register = m.reg(name, input.ty());
            register.next(input);
            register.q
        };
        let valid = m.reg_init("valid_q", bit(), 0);
        valid.next(io.valid_i & !io.clear_i);
        let transposed = pass(m, "transposed_q", io.transposed_i);
        let first = pass(m, "first_q", io.first_i);
        let last = pass(m, "last_q", io.last_i);
        let place = pass(m, "place_q", io.place_i);
        let index = pass(m, "index_q", io.index_i);
        m.comment("The memory does not yet show the sum of the cycle before.");
        let again = pass(m, "again_q", valid.q & index.eq(io.index_i));
        let result = m.reg("result_q", sint(width));
        let overflow = m.reg("overflow_q", bit());

        let shown = mux(again, cat(&[overflow.q, result.q.as_uint()]), kept);
        let before = m.wire("base", mux(first, uint(width + 1).lit(0), shown));
        let partial = m.wire("partial", mux(transposed, io.left_i, io.above_i));
        let at = |place: u32| partial.shl(place * self.operand_width).extend(width);
        let addend = m.wire("addend", mux(place.bit(1), at(2), mux(place.bit(0), at(1), at(0))));
        let exact = m.wire("exact", before.slice(0..width).as_sint() + addend);
        let sum = m.wire("sum", exact.truncate(width));
        let mut inexact = before.msb() | (exact.msb() ^ exact.bit(width - 1));
        if !self.depth.is_power_of_two() {
            inexact = inexact | index.ge(self.depth);
        }
        let inexact = m.wire("inexact", inexact);
        ram.write(valid.q, index, cat(&[inexact, sum.as_uint()]));
        result.next_when(valid.q, sum);
        overflow.next_when(valid.q, inexact);
        let result_valid = m.reg_init("result_valid_q", bit(), 0);
        result_valid.next(valid.q & last & !io.clear_i);
        let transposed = pass(m, "result_transposed_q", transposed);
        m.connect(io.result_valid_o, result_valid.q);
        m.connect(io.transposed_o, transposed);
        m.connect(io.result_o, result.q);
        m.connect(io.overflow_o, overflow.q);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}
