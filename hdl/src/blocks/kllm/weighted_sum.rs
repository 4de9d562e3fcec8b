//! Weighted sum: counts times centroids, added up in the order in which the counter drains its bins.
//!
//! KLLM section III-B, step 3. A bin a cycle, so that it keeps up with the drain; see
//! [`Fp16Mac`](super::Fp16Mac) for why the addition is not pipelined.

use super::fp16_mac::Fp16Mac;
use crate::blocks::common::{FloatFormat, FloatFromInt, Subnormals};
use crate::lang::{
    About, Block, CatalogBlock, Field, InStream, Module, OutStream, Rules, Timing, bit, bits_for, bundle, parameters,
    ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct WeightedSum {
        /// Largest count that comes.
        largest_count: u32 = 61_440, in 1..=u32::MAX, tag "c";
        /// The multiply-add; its stages are the ranks of registers from a count to the sum.
        mac: Fp16Mac = Fp16Mac::default();
    }
    rules = |p, rules| p.doubt(rules);
}

/// The smallest integer that becomes an infinity in fp16.
const LEAST_INFINITE: u32 = 65_520;

bundle! {
    /// A bin of a column.
    pub struct WeightedBin(p: WeightedSum) {
        /// How often the bin's index occurs.
        count: Field = uint(bits_for(p.largest_count.into())),
        /// Value of the bin, fp16.
        centroid: Field = uint(16),
        /// The count is wrong.
        error: Field = bit(),
        /// The column ends with this bin.
        last: Field = bit(),
    }
}

bundle! {
    /// The sum of a column.
    pub struct ColumnSum(format: FloatFormat) {
        /// The sum, in the format of the multiply-add.
        value: Field = format.ty(),
        /// The value is wrong: a bin of the column had `error`, or a count of 65,520 or more, which is infinite in
        /// fp16.
        error: Field = bit(),
    }
}

ports! {
    /// Ports of [`WeightedSum`].
    pub struct WeightedSumPorts(p: &WeightedSum) {
        /// A bin is offered.
        bins: InStream<WeightedBin> = p.clone(),
        /// The sum of a column is there.
        sum: OutStream<ColumnSum> = p.mac.accumulate,
    }
}

impl WeightedSum {
    /// Notes that sums can be wrong, for the blocks that contain this one too.
    pub(super) fn doubt(&self, rules: &mut Rules) {
        let sentence = format!(
            "counts reach {}; from {LEAST_INFINITE} on they are infinite in fp16, which `error` tells of a column's sum",
            self.largest_count
        );
        rules.doubt(self.counts_overflow(), sentence);
    }

    /// Counts can be infinite in fp16.
    fn counts_overflow(&self) -> bool {
        self.largest_count >= LEAST_INFINITE
    }
}

impl Block for WeightedSum {
    type Ports = WeightedSumPorts;
    const ABOUT: About = About {
        name: "weighted_sum",
        summary: "sum of counts times centroids, in bin order",
        contract: "For each column (bins up to one with last): value = the sum of fp16(count) * centroid in order,\n\
            from +0, valid `stages` cycles after the last bin is taken. Counts are exact in fp16 up to 2048,\n\
            rounded to nearest even above, and infinite from 65,520 on. error tells that a column had such a count,\n\
            or a bin with error. A bin a cycle; it waits only while a sum is not taken. Reset drops the column that\n\
            is inside at any time; the next bin begins a column.",
        reference: "KLLM, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &WeightedSumPorts) {
        let done = m.reg_init("done_q", bit(), 0);
        // The register of the sum is the output's: it moves on when the sum is taken.
        let enable = m.wire("enable", !done.q | io.sum.ready);
        let count = io.bins.count;
        let convert =
            FloatFromInt { format: FloatFormat::Fp16, width: count.width(), signed: false, stages: 0, flags: false };
        let converted = m.instance("u_count", convert);
        m.connect(converted.valid_i, io.bins.valid);
        m.connect(converted.a_i, count);
        let first = m.reg_init("first_q", bit(), 1);
        first.next_when(io.bins.fire(), io.bins.last);
        let mac = m.instance("u_mac", self.mac.clone());
        m.connect(mac.enable_i, enable);
        m.connect(mac.valid_i, io.bins.valid);
        m.connect(mac.start_i, first.q);
        m.connect(mac.a_i, converted.result_o);
        m.connect(mac.b_i, io.bins.centroid);
        let mut wrong = io.bins.error;
        if self.counts_overflow() {
            wrong = wrong | count.ge(LEAST_INFINITE);
        }
        let before = m.reg("error_before_q", bit());
        let mut error = m.wire("error", wrong | (before.q & !first.q));
        before.next_when(io.bins.fire(), error);
        // The end of the column goes along with its last product.
        let mut ends = io.bins.valid & io.bins.last;
        for stage in 1..self.mac.stages {
            let ends_here = m.reg_init(&format!("ends_{stage}_q"), bit(), 0);
            let error_here = m.reg(&format!("error_{stage}_q"), bit());
            ends_here.next_when(enable, ends);
            error_here.next_when(enable, error);
            (ends, error) = (ends_here.q, error_here.q);
        }
        done.next_when(enable, ends);
        let error_out = m.reg("error_q", bit());
        error_out.next_when(enable, error);
        m.connect(io.bins.ready, enable);
        m.connect(io.sum.valid, done.q);
        m.connect(io.sum.value, mac.sum_o);
        m.connect(io.sum.error, error_out.q);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.mac.stages)
    }
}

impl CatalogBlock for WeightedSum {
    fn configurations() -> Vec<Self> {
        use FloatFormat::{Fp16, Fp32};
        use Subnormals::{Flush, Ieee};
        let set = |largest_count, accumulate, fused, stages, subnormals| Self {
            largest_count,
            mac: Fp16Mac { accumulate, fused, stages, subnormals },
        };
        vec![
            set(1, Fp16, true, 1, Ieee),
            set(8191, Fp16, false, 3, Ieee),
            set(1_000_000, Fp32, true, 2, Flush),
            set(65_520, Fp16, true, 2, Ieee),
        ]
    }
}
