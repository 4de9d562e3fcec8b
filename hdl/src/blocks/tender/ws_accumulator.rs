//! Accumulator below a column of the weight-stationary array: adds up the folds of a long reduction. Before a fold's
//! partial sum comes in, the sum so far is doubled as often as the rows of that fold double.

use crate::lang::{
    About, Block, In, Module, Out, Timing, bit, bits_for, cat, index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct WsAccumulator {
        /// Sums that are kept.
        depth: u32 = 64, in 2..=65_536, tag "d";
        /// Width of a sum in bits, signed.
        accumulator_width: u32 = 32, in 2..=64, tag "a";
        /// Largest number of doublings of one fold.
        max_shift: u32 = 16, in 1..=256, tag "s";
    }
}

ports! {
    /// Ports of [`WsAccumulator`].
    pub struct WsAccumulatorPorts(p: &WsAccumulator) {
        /// A partial sum comes in the next cycle.
        valid_i: In = bit(),
        /// It is of the first fold.
        first_i: In = bit(),
        /// It is of the last fold.
        last_i: In = bit(),
        /// Which sum it belongs to.
        index_i: In = uint(index_width(p.depth.into())),
        /// Doublings of its fold.
        shift_i: In = uint(bits_for(p.max_shift.into())),
        /// The partial sum, one cycle after the inputs above.
        partial_i: In = sint(p.accumulator_width),
        /// It left its range.
        overflow_i: In = bit(),
        /// A sum is complete.
        result_valid_o: Out = bit(),
        /// The sum.
        result_o: Out = sint(p.accumulator_width),
        /// The sum or one of its parts left its range.
        overflow_o: Out = bit(),
    }
}

impl Block for WsAccumulator {
    type Ports = WsAccumulatorPorts;
    const ABOUT: About = About {
        name: "ws_accumulator",
        summary: "sums over the folds of a reduction, doubled before each fold comes in",
        contract: "sum[index] = (first ? 0 : sum[index] x 2^shift) + partial, modulo 2^accumulator_width. The flag\n\
            stays up once a step was not exact, or a partial sum was flagged. It is also up for an index that is\n\
            not below depth; such a sum is not kept. The same index must not come in two neighbouring cycles. Reset\n\
            drops sums on their way; a sum is unknown until its first fold.",
        reference: "Tender, section IV-B",
    };

    fn build(&self, m: &mut Module, io: &WsAccumulatorPorts) {
        let width = self.accumulator_width;
        let ram = m.memory("sums", self.depth, width + 1, width + 1);
        let kept = ram.read("kept", io.valid_i, io.index_i);
        let pass = |m: &mut Module, name: &str, input: crate::lang::Signal| {
            let register = m.reg(name, input.ty());
            register.next(input);
            register.q
        };
        let valid = m.reg_init("valid_q", bit(), 0);
        valid.next(io.valid_i);
        let first = pass(m, "first_q", io.first_i);
        let last = pass(m, "last_q", io.last_i);
        let index = pass(m, "index_q", io.index_i);
        let shift = pass(m, "shift_q", io.shift_i);
        let base = m.wire("base", mux(first, uint(width).lit(0), kept.slice(0..width)).as_sint());
        let shifted = m.wire("shifted", base.shl_by(shift));
        let lost = shifted.shr_by(shift).ne(base);
        let sum = m.wire("sum", shifted.wrapping_add(io.partial_i));
        let leaves = !(shifted.msb() ^ io.partial_i.msb()) & (sum.msb() ^ shifted.msb());
        let mut inexact = io.overflow_i | lost | leaves | (!first & kept.msb());
        if !self.depth.is_power_of_two() {
            inexact = inexact | index.ge(self.depth);
        }
        let overflow = m.wire("overflow", inexact);
        ram.write(valid.q, index, cat(&[overflow, sum]));
        let result_valid = m.reg_init("result_valid_q", bit(), 0);
        result_valid.next(valid.q & last);
        let result = pass(m, "result_q", sum);
        let result_overflow = pass(m, "result_overflow_q", overflow);
        m.connect(io.result_valid_o, result_valid.q);
        m.connect(io.result_o, result);
        m.connect(io.overflow_o, result_overflow);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}
