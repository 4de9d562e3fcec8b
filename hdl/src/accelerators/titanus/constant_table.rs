//! Constants of results: one for each lane, neighbours, wherever they begin.

use super::titanus_spec::TitanusSpec;
use crate::lang::{
    About, Block, In, Module, OutArray, Timing, bit, cat, index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ConstantTable {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
}

ports! {
    /// Ports of [`ConstantTable`].
    pub struct ConstantTablePorts(p: &ConstantTable) {
        /// Writes a constant.
        write_i: In = bit(),
        /// Its number.
        write_index_i: In = p.spec.constant(),
        /// Scale, fp32.
        scale_i: In = uint(32),
        /// Bias.
        bias_i: In = sint(32),
        /// Reads a constant for each lane.
        read_i: In = bit(),
        /// Number of the first one.
        read_index_i: In = p.spec.constant(),
        /// All lanes have that one; otherwise each has one more than the lane before.
        single_i: In = bit(),
        /// Scales, from the cycle after read_i until the next read.
        scale_o: OutArray = uint(32).array(p.spec.results()),
        /// Biases.
        bias_o: OutArray = sint(32).array(p.spec.results()),
    }
}

impl Block for ConstantTable {
    type Ports = ConstantTablePorts;
    const ABOUT: About = About {
        name: "constant_table",
        summary: "scales and biases of results, a group of neighbours at once",
        contract: "Constants that were written stay through reset. A constant that does not exist, or was never\n\
            written, reads as anything.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &ConstantTablePorts) {
        let (lanes, index) = (self.spec.results(), self.spec.constant());
        let low = lanes.trailing_zeros();
        let depth = self.spec.constants.div_ceil(lanes).max(2);
        let wide = index.width.max(low + index_width(depth.into()));
        let parts = |m: &mut Module, name: &str, value: crate::lang::Signal| {
            let value = m.wire(name, value.extend(wide));
            (value.slice(0..low), value.slice(low..wide))
        };
        let (write_low, write_high) = parts(m, "write_index", io.write_index_i);
        let (read_low, read_high) = parts(m, "read_index", io.read_index_i);
        let words = m.nets("word", uint(64), lanes);
        let data = m.wire("data", cat(&[io.bias_i.as_uint(), io.scale_i]));
        m.for_each("banks", lanes, |m, b| {
            let bank = m.memory("bank", depth, 64, 64);
            let ty = bank.address_type();
            let here = m.wire("here", io.write_i & write_low.eq(b.value(low)));
            bank.write(here, write_high.truncate(ty.width), data);
            // Banks before the first constant's bank have their turn in the next row.
            let behind = m.wire("behind", (b.value(low) - read_low).msb());
            let from = m.wire("from", read_high.wrapping_add(behind.extend(read_high.width())).truncate(ty.width));
            let word = bank.read("bank_word", io.read_i, from);
            m.connect(words.at(b), word);
        });
        let first = m.reg("first_q", uint(low));
        first.next_when(io.read_i, read_low);
        let single = m.reg("single_q", bit());
        single.next_when(io.read_i, io.single_i);
        let one = m.wire("one", words.at(first.q));
        m.for_each("lanes", lanes, |m, l| {
            let place = m.wire("place", first.q.wrapping_add(l.value(low)));
            let word = m.wire("lane_word", mux(single.q, one, words.at(place)));
            m.connect(io.scale_o.at(l), word.slice(0..32));
            m.connect(io.bias_o.at(l), word.slice(32..64).as_sint());
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}
