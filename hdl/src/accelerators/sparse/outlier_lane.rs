//! One column of results: products of outliers are added here, and the array's sums when they leave it.

use crate::lang::{About, Block, In, Module, Out, Timing, bit, index_width, mux, parameters, ports, sint, uint};

parameters! {
    /// Elaboration parameters.
    pub struct OutlierLane {
        /// Rows, one sum each.
        rows: u32 = 8, in 1..=64, tag "r";
        /// Width of an outlier in bits, signed.
        activation_width: u32 = 16, in 2..=24, tag "a";
        /// Width of a weight in bits, signed.
        operand_width: u32 = 4, in 2..=8, tag "w";
        /// Width of a sum of the array in bits, signed.
        accumulator_width: u32 = 22, in 6..=64, tag "p";
        /// Width of a sum in bits, signed; wide enough for all addends.
        sum_width: u32 = 23, in 6..=64, tag "s";
    }
}

ports! {
    /// Ports of [`OutlierLane`].
    pub struct OutlierLanePorts(p: &OutlierLane) {
        /// Adds value_i x weight_i to the sum of row_i.
        multiply_i: In = bit(),
        /// Adds array_i to the sum of row_i; not with multiply_i.
        merge_i: In = bit(),
        /// The row that is added to; without either, the one that is shown.
        row_i: In = uint(index_width(p.rows.into())),
        /// The row has a sum already; else this one begins at 0.
        again_i: In = bit(),
        /// The outlier.
        value_i: In = sint(p.activation_width),
        /// Its weight.
        weight_i: In = sint(p.operand_width),
        /// A sum of the array.
        array_i: In = sint(p.accumulator_width),
        /// The sum of the row that row_i named in the cycle before, without the addend of that cycle.
        sum_o: Out = sint(p.sum_width),
    }
}

impl Block for OutlierLane {
    type Ports = OutlierLanePorts;
    const ABOUT: About = About {
        name: "outlier_lane",
        summary: "multiply-accumulate with a sum for each row, to which the array's sums are added",
        contract: "An addition a cycle; it shows two cycles later. The addend is registered in between, so an\n\
            addition may follow another to the same row at once.",
        reference: "KLLM, section IV-C",
    };

    fn build(&self, m: &mut Module, io: &OutlierLanePorts) {
        let product = m.wire("product", io.value_i * io.weight_i);
        let wide = product.width().max(self.accumulator_width);
        let adds = m.reg_init("adds_q", bit(), 0);
        adds.next(io.multiply_i | io.merge_i);
        let again = m.reg("again_q", bit());
        again.next(io.again_i);
        let row = m.reg("row_q", io.row_i.ty());
        row.next(io.row_i);
        let addend = m.reg("addend_q", sint(wide));
        addend.next(mux(io.merge_i, io.array_i.extend(wide), product.extend(wide)));

        let sums = m.memory("sums", self.rows.max(2), self.sum_width, self.sum_width);
        let word = sums.read_async("sum_word", row.q);
        let base = m.wire("base", mux(again.q, word.as_sint(), 0));
        let sum = m.wire("sum", (base + addend.q).truncate(self.sum_width));
        sums.write(adds.q, row.q, sum.as_uint());
        m.connect(io.sum_o, word.as_sint());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(2)
    }
}
