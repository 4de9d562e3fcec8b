//! Weighted sum: counts times centroids, added up in the order in which the counter drains its bins.
//!
//! KLLM section III-B, step 3. A bin a cycle, so that it keeps up with the drain; see
//! [`Fp16Mac`](super::Fp16Mac) for why the addition is not pipelined.

use super::fp16_mac::Fp16Mac;
use crate::blocks::common::{FloatFormat, FloatFromInt, Subnormals};
use crate::lang::{
    About, Block, CatalogBlock, Field, InStream, Module, OutStream, Timing, bit, bundle, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct WeightedSum {
        /// Width of a count in bits.
        count_width: u32 = 16, in 1..=32, tag "c";
        /// The multiply-add; its stages are the ranks of registers from a count to the sum.
        mac: Fp16Mac = Fp16Mac::default();
    }
}

bundle! {
    /// A bin of a column.
    pub struct WeightedBin(count_width: u32) {
        /// How often the bin's index occurs.
        count: Field = uint(*count_width),
        /// Value of the bin, fp16.
        centroid: Field = uint(16),
        /// The column ends with this bin.
        last: Field = bit(),
    }
}

bundle! {
    /// The sum of a column.
    pub struct ColumnSum(format: FloatFormat) {
        /// The sum, in the format of the multiply-add.
        value: Field = format.ty(),
    }
}

ports! {
    /// Ports of [`WeightedSum`].
    pub struct WeightedSumPorts(p: &WeightedSum) {
        /// A bin is offered.
        bins: InStream<WeightedBin> = p.count_width,
        /// The sum of a column is there.
        sum: OutStream<ColumnSum> = p.mac.accumulate,
    }
}

impl Block for WeightedSum {
    type Ports = WeightedSumPorts;
    const ABOUT: About = About {
        name: "weighted_sum",
        summary: "sum of counts times centroids, in bin order",
        contract: "For each column (bins up to one with last): value = the sum of fp16(count) * centroid in order, from +0,\n\
            valid `stages` cycles after the last bin is taken. A bin a cycle; it waits only while a sum is not taken.\n\
            Reset drops the column that is inside at any time; the next bin begins a column.",
        reference: "KLLM, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &WeightedSumPorts) {
        let done = m.reg_init("done_q", bit(), 0);
        // The register of the sum is the output's: it moves on when the sum is taken.
        let enable = m.wire("enable", !done.q | io.sum.ready);
        let convert =
            FloatFromInt { format: FloatFormat::Fp16, width: self.count_width, signed: false, stages: 0, flags: false };
        let count = m.instance("u_count", convert);
        m.connect(count.valid_i, io.bins.valid);
        m.connect(count.a_i, io.bins.count);
        let first = m.reg_init("first_q", bit(), 1);
        first.next_when(io.bins.fire(), io.bins.last);
        let mac = m.instance("u_mac", self.mac.clone());
        m.connect(mac.enable_i, enable);
        m.connect(mac.valid_i, io.bins.valid);
        m.connect(mac.start_i, first.q);
        m.connect(mac.a_i, count.result_o);
        m.connect(mac.b_i, io.bins.centroid);
        // The end of the column goes along with its last product.
        let mut ends = io.bins.valid & io.bins.last;
        for stage in 1..self.mac.stages {
            let register = m.reg_init(&format!("ends_{stage}_q"), bit(), 0);
            register.next_when(enable, ends);
            ends = register.q;
        }
        done.next_when(enable, ends);
        m.connect(io.bins.ready, enable);
        m.connect(io.sum.valid, done.q);
        m.connect(io.sum.value, mac.sum_o);
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.mac.stages).beat(1u32)
    }
}

impl CatalogBlock for WeightedSum {
    fn configurations() -> Vec<Self> {
        use FloatFormat::{Fp16, Fp32};
        use Subnormals::{Flush, Ieee};
        let set = |count_width, accumulate, fused, stages, subnormals| Self {
            count_width,
            mac: Fp16Mac { accumulate, fused, stages, subnormals },
        };
        vec![set(1, Fp16, true, 1, Ieee), set(13, Fp16, false, 3, Ieee), set(20, Fp32, true, 2, Flush)]
    }
}
