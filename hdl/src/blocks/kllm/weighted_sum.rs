//! Weighted sum: counts times centroids, added up in the order in which the counter drains its bins.
//!
//! KLLM section III-B, step 3. A bin a cycle, so that it keeps up with the drain; see
//! [`Fp16Mac`](super::Fp16Mac) for why the addition is not pipelined.

use serde::{Deserialize, Serialize};

use super::fp16_mac::{Fp16Mac, MAC_PARAMETERS};
use crate::blocks::common::{FloatFormat, FloatFromInt, Subnormals};
use crate::lang::{
    About, Block, CatalogBlock, Module, OldInStream, OldOutStream, OldParameter, ParamError, bit, ensure_param,
    old_parameters, ports, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedSum {
    /// Width of a count in bits.
    pub count_width: u32,
    /// Format of the sum.
    pub accumulate: FloatFormat,
    /// One rounding a step; otherwise the product is rounded before the addition.
    pub fused: bool,
    /// Ranks of registers from a count to the sum.
    pub stages: u32,
    /// What subnormal numbers do.
    pub subnormals: Subnormals,
}

ports! {
    /// Ports of [`WeightedSum`].
    pub struct WeightedSumPorts(p: &WeightedSum) {
        /// Counts and the fp16 values of their bins.
        bins: OldInStream = stream().field("count", uint(p.count_width)).field("centroid", uint(16)).field("last", bit()),
        /// The sum of a column.
        sum: OldOutStream = stream().field("value", p.accumulate.ty()),
    }
}

impl WeightedSum {
    fn mac(&self) -> Fp16Mac {
        Fp16Mac { accumulate: self.accumulate, fused: self.fused, stages: self.stages, subnormals: self.subnormals }
    }
}

old_parameters!(WeightedSum);

impl Block for WeightedSum {
    type Ports = WeightedSumPorts;
    const ABOUT: About = About {
        name: "weighted_sum",
        summary: "sum of counts times centroids, in bin order",
        contract: "For each column (bins up to one with last): value = the sum of fp16(count) * centroid in order, from +0,\n\
            valid `stages` cycles after the last bin is taken. A bin a cycle; it waits only while a sum is not taken.",
        reference: "KLLM, sections III-B and IV-A",
    };

    fn module_name(&self) -> String {
        format!("weighted_sum_c{}_{}", self.count_width, self.mac().suffix())
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("count_width", self.count_width, 1..=32)?;
        self.mac().old_check()
    }

    fn build(&self, m: &mut Module, io: &WeightedSumPorts) {
        let done = m.reg_init("done_q", bit(), 0);
        // The register of the sum is the output's: it moves on when the sum is taken.
        let enable = m.wire("enable", !done.q | io.sum.ready);
        let convert =
            FloatFromInt { format: FloatFormat::Fp16, width: self.count_width, signed: false, stages: 0, flags: false };
        let count = m.instance("u_count", convert);
        m.connect(count.valid_i, io.bins.valid);
        m.connect(count.a_i, io.bins.field("count"));
        let first = m.reg_init("first_q", bit(), 1);
        first.next_when(io.bins.fire(), io.bins.field("last"));
        let mac = m.instance("u_mac", self.mac());
        m.connect(mac.enable_i, enable);
        m.connect(mac.valid_i, io.bins.valid);
        m.connect(mac.start_i, first.q);
        m.connect(mac.a_i, count.result_o);
        m.connect(mac.b_i, io.bins.field("centroid"));
        // The end of the column goes along with its last product.
        let mut ends = io.bins.valid & io.bins.field("last");
        for stage in 1..self.stages {
            let register = m.reg_init(&format!("ends_{stage}_q"), bit(), 0);
            register.next_when(enable, ends);
            ends = register.q;
        }
        done.next_when(enable, ends);
        m.connect(io.bins.ready, enable);
        m.connect(io.sum.valid, done.q);
        m.connect(io.sum.field("value"), mac.sum_o);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("last bin to sum".into(), self.stages.into())]
    }
}

impl Default for WeightedSum {
    fn default() -> Self {
        let mac = Fp16Mac::default();
        Self {
            count_width: 16,
            accumulate: mac.accumulate,
            fused: mac.fused,
            stages: mac.stages,
            subnormals: mac.subnormals,
        }
    }
}

impl CatalogBlock for WeightedSum {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "count_width", allowed: "1 to 32", meaning: "width of a count, bits" },
        MAC_PARAMETERS[0],
        MAC_PARAMETERS[1],
        MAC_PARAMETERS[2],
        MAC_PARAMETERS[3],
    ];

    fn configurations() -> Vec<Self> {
        use FloatFormat::{Fp16, Fp32};
        use Subnormals::{Flush, Ieee};
        let set = |count_width, accumulate, fused, stages, subnormals| Self {
            count_width,
            accumulate,
            fused,
            stages,
            subnormals,
        };
        vec![set(1, Fp16, true, 1, Ieee), set(13, Fp16, false, 3, Ieee), set(20, Fp32, true, 2, Flush)]
    }
}
