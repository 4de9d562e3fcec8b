//! One column of the index-based MatMul: pairs of indices in, one output out.
//!
//! KLLM sections III-B and IV-A: concat units, an index distribution counter, a MAC that sums the distribution, and the
//! scales. While the counter takes a column, the MAC sums the one before; with K = 4096, 16 pairs a cycle and 256 bins both
//! take 256 cycles.
//!
//! **Outliers** are absent from the dense sum: the concat units drop them. The sparse path adds their products elsewhere.
//!
//! **Scales.** y = fp16(fp16(s_a * s_w) * fp16(sum)). One fp16 multiplier does both, in two cycles: the scales of a column
//! while its bins are drained, the output when its sum is there.
//!
//! The codebook (fp16 products; in integer mode the centroids of the activations) is inside, so that the block stands
//! alone. Columns that work in step would share one.

use serde::{Deserialize, Serialize};

use super::concat_unit::ConcatUnit;
use super::fp16_mac::{Fp16Mac, MAC_PARAMETERS};
use super::index_distribution_counter::{BinStyle, IndexDistributionCounter};
use super::weighted_sum::WeightedSum;
use crate::blocks::common::{FloatConvert, FloatFormat, FloatMul, Subnormals};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, OldInStream, OldOutStream, OldParameter, ParamError, Signal, bit, cat, mux,
    old_parameters, ports, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexMatmulColumn {
    /// Width of an activation index in bits.
    pub a_bits: u32,
    /// Width of a weight index or integer in bits.
    pub b_bits: u32,
    /// Pairs a cycle.
    pub inputs: u32,
    /// Largest number of pairs of a column that count.
    pub k: u32,
    /// How counts are kept.
    pub bins: BinStyle,
    /// A column is summed while the next one is counted.
    pub ping_pong: bool,
    /// Format of the sum.
    pub accumulate: FloatFormat,
    /// One rounding a step of the sum; otherwise two.
    pub fused: bool,
    /// Ranks of registers from a count to the sum.
    pub stages: u32,
    /// What subnormal numbers do.
    pub subnormals: Subnormals,
}

ports! {
    /// Ports of [`IndexMatmulColumn`].
    pub struct IndexMatmulColumnPorts(p: &IndexMatmulColumn) {
        /// A codebook entry is written. Not while a column is being summed.
        codebook_write_i: In = bit(),
        /// Its bin: {a, w}, in integer mode a.
        codebook_bin_i: In = uint(p.a_bits + p.b_bits),
        /// Its value, fp16.
        codebook_value_i: In = uint(16),
        /// Pairs. `present`: the position belongs to the column. `outlier`: the dense sum goes without it. `integer` (w is
        /// an integer) is the same in all beats of a column; `half` (activations have a bit less) and the fp16 scales
        /// count with the last beat.
        pairs: OldInStream = stream()
            .array("a", uint(p.a_bits).array(p.inputs))
            .array("w", uint(p.b_bits).array(p.inputs))
            .array("present", bit().array(p.inputs))
            .array("outlier", bit().array(p.inputs))
            .field("integer", bit())
            .field("half", bit())
            .field("last", bit())
            .field("scale_a", uint(16))
            .field("scale_w", uint(16)),
        /// The output of a column, fp16.
        y: OldOutStream = stream().field("value", uint(16)),
    }
}

impl IndexMatmulColumn {
    /// The counter inside.
    #[must_use]
    pub fn counter(&self) -> IndexDistributionCounter {
        IndexDistributionCounter {
            a_bits: self.a_bits,
            b_bits: self.b_bits,
            inputs: self.inputs,
            k: self.k,
            bins: self.bins,
            ping_pong: self.ping_pong,
        }
    }

    fn sum(&self) -> WeightedSum {
        WeightedSum {
            count_width: self.counter().count_width(),
            accumulate: self.accumulate,
            fused: self.fused,
            stages: self.stages,
            subnormals: self.subnormals,
        }
    }

    /// Cycles from taking the first beat to offering y, without pauses, for a column of `beats` beats and `bins` bins.
    #[must_use]
    pub fn cycles(&self, beats: u64, bins: u64) -> u64 {
        // Concat, swap, sum, scale.
        beats + bins + 1 + u64::from(self.ping_pong) + u64::from(self.stages)
    }
}

old_parameters!(IndexMatmulColumn);

impl Block for IndexMatmulColumn {
    type Ports = IndexMatmulColumnPorts;
    const ABOUT: About = About {
        name: "index_matmul_column",
        summary: "one output of an index-based MatMul: count, sum, scale",
        contract: "For each column (beats up to one with last): y = fp16(fp16(scale_a * scale_w) * fp16(sum)),\n\
            sum = the sum of fp16(count) * codebook in bin order from +0, where count is the number of pairs with\n\
            present and without outlier that have the bin's indices (with integer: the sum of their w).\n\
            Without pauses: y after beats + bins + stages + 2 cycles, a column every max(beats, bins).",
        reference: "KLLM, sections III-B and IV-A",
    };

    fn module_name(&self) -> String {
        let style = if self.counter().log_entries() > 0 { "log" } else { "full" };
        let ping_pong = if self.ping_pong { "" } else { "_single" };
        let mac = Fp16Mac {
            accumulate: self.accumulate,
            fused: self.fused,
            stages: self.stages,
            subnormals: self.subnormals,
        };
        let (a, b, n, k) = (self.a_bits, self.b_bits, self.inputs, self.k);
        format!("index_matmul_column_a{a}_b{b}_n{n}_k{k}_{style}{ping_pong}_{}", mac.suffix())
    }

    fn old_check(&self) -> Result<(), ParamError> {
        self.counter().old_check()?;
        self.sum().old_check()
    }

    fn build(&self, m: &mut Module, io: &IndexMatmulColumnPorts) {
        let counter = m.instance("u_counter", self.counter());
        let full = m.net("scales_full", bit());
        let last = self.concatenate(m, io, full, &counter.indices);

        let codebook = m.memory("codebook", 1 << (self.a_bits + self.b_bits), 16, 16);
        codebook.write(io.codebook_write_i, io.codebook_bin_i, io.codebook_value_i);
        let centroid = codebook.read_async("centroid", counter.bins.field("bin"));
        let sum = m.instance("u_sum", self.sum());
        m.connect(sum.bins.valid, counter.bins.valid);
        m.connect(counter.bins.ready, sum.bins.ready);
        m.connect(sum.bins.field("count"), counter.bins.field("count"));
        m.connect(sum.bins.field("centroid"), centroid);
        m.connect(sum.bins.field("last"), counter.bins.field("last"));

        self.scale(m, io, last, full, &sum.sum);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        let beats = u64::from(self.k.div_ceil(self.inputs));
        let bins = self.counter().drained_bins(false, false);
        vec![
            ("first beat to y, k pairs".into(), self.cycles(beats, bins)),
            ("columns, k pairs each".into(), if self.ping_pong { beats.max(bins) } else { beats + bins }),
        ]
    }
}

impl IndexMatmulColumn {
    /// The concat units, a rank of registers of the stream. Returns the cycle in which a last beat enters them.
    fn concatenate(
        &self,
        m: &mut Module,
        io: &IndexMatmulColumnPorts,
        full: Signal,
        to: &crate::lang::OldStream,
    ) -> Signal {
        let valid = m.reg_init("pairs_valid_q", bit(), 0);
        m.connect(io.pairs.ready, (!valid.q | to.ready) & !full);
        let takes = m.wire("takes", io.pairs.fire());
        valid.next(takes | (valid.q & !to.ready));
        m.connect(to.valid, valid.q);
        for field in ["integer", "half", "last"] {
            let register = m.reg(&format!("pairs_{field}_q"), bit());
            register.next_when(takes, io.pairs.field(field));
            m.connect(to.field(field), register.q);
        }
        m.for_each("pairs", self.inputs, |m, i| {
            let u = m.instance("u_concat", ConcatUnit { a_bits: self.a_bits, b_bits: self.b_bits });
            m.connect(u.enable_i, takes);
            m.connect(u.valid_i, io.pairs.array("present").at(i));
            m.connect(u.outlier_i, io.pairs.array("outlier").at(i));
            m.connect(u.a_i, io.pairs.array("a").at(i));
            m.connect(u.w_i, io.pairs.array("w").at(i));
            m.connect(to.array("index").at(i), u.index_o);
            m.connect(to.array("present").at(i), u.present_o);
        });
        m.wire("column_ends", takes & io.pairs.field("last"))
    }

    /// Scales wait for the sum of their column: short columns overtake each other up to four deep.
    fn scale(
        &self,
        m: &mut Module,
        io: &IndexMatmulColumnPorts,
        last: Signal,
        full: Signal,
        sum: &crate::lang::OldStream,
    ) {
        let scales = m.memory("scales", 4, 32, 32);
        let (write, read) = (m.reg_init("scales_write_q", uint(2), 0), m.reg_init("scales_read_q", uint(2), 0));
        let waiting = m.reg_init("scales_waiting_q", uint(3), 0);
        scales.write(last, write.q, cat(&[io.pairs.field("scale_a"), io.pairs.field("scale_w")]));
        let next = scales.read_async("next_scales", read.q);
        let ready = m.reg_init("scale_valid_q", bit(), 0);
        let fetch = m.wire("fetch", !ready.q & waiting.q.any());
        write.next_when(last, write.q.wrapping_add(1));
        read.next_when(fetch, read.q.wrapping_add(1));
        waiting.next(waiting.q.wrapping_add(last).wrapping_sub(fetch));
        m.connect(full, waiting.q.msb());

        let y_valid = m.reg_init("y_valid_q", bit(), 0);
        let takes_sum = m.wire("takes_sum", sum.valid & ready.q & (!y_valid.q | io.y.ready));
        m.connect(sum.ready, ready.q & (!y_valid.q | io.y.ready));
        let sum = if self.accumulate == FloatFormat::Fp16 {
            sum.field("value")
        } else {
            let convert = FloatConvert {
                from: self.accumulate,
                to: FloatFormat::Fp16,
                stages: 0,
                subnormals: self.subnormals,
                flags: false,
            };
            let u = m.instance("u_narrow", convert);
            m.connect(u.valid_i, sum.valid);
            m.connect(u.a_i, sum.field("value"));
            u.result_o
        };
        let scale = m.reg("scale_q", uint(16));
        let mul = FloatMul { format: FloatFormat::Fp16, stages: 0, subnormals: self.subnormals, flags: false };
        let mul = m.instance("u_scale", mul);
        m.connect(mul.valid_i, fetch | takes_sum);
        m.connect(mul.a_i, mux(ready.q, scale.q, next.slice(16..32)));
        m.connect(mul.b_i, mux(ready.q, sum, next.slice(0..16)));
        scale.next_when(fetch, mul.result_o);
        ready.next(fetch | (ready.q & !takes_sum));
        let y = m.reg("y_q", uint(16));
        y.next_when(takes_sum, mul.result_o);
        y_valid.next(takes_sum | (y_valid.q & !io.y.ready));
        m.connect(io.y.valid, y_valid.q);
        m.connect(io.y.field("value"), y.q);
    }
}

impl Default for IndexMatmulColumn {
    fn default() -> Self {
        let (counter, mac) = (IndexDistributionCounter::default(), Fp16Mac::default());
        Self {
            a_bits: counter.a_bits,
            b_bits: counter.b_bits,
            inputs: counter.inputs,
            k: counter.k,
            bins: counter.bins,
            ping_pong: counter.ping_pong,
            accumulate: mac.accumulate,
            fused: mac.fused,
            stages: mac.stages,
            subnormals: mac.subnormals,
        }
    }
}

impl CatalogBlock for IndexMatmulColumn {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "a_bits", allowed: "1 to 6", meaning: "width of an activation index, bits" },
        OldParameter { name: "b_bits", allowed: "1 to 6", meaning: "width of a weight index or integer, bits" },
        OldParameter { name: "inputs", allowed: "1 to 64", meaning: "pairs a cycle" },
        OldParameter { name: "k", allowed: "1 to 1048576", meaning: "largest number of pairs of a column that count" },
        OldParameter {
            name: "bins",
            allowed: "full_width, overflow_log",
            meaning: "a wide register a bin, or short ones and a log of their overflows",
        },
        OldParameter {
            name: "ping_pong",
            allowed: "true, false",
            meaning: "sum a column while the next one is counted",
        },
        MAC_PARAMETERS[0],
        MAC_PARAMETERS[1],
        MAC_PARAMETERS[2],
        MAC_PARAMETERS[3],
    ];

    fn configurations() -> Vec<Self> {
        use FloatFormat::{Fp16, Fp32};
        let default = Self::default();
        let set = |a_bits, b_bits, inputs, k, bins, ping_pong| Self {
            a_bits,
            b_bits,
            inputs,
            k,
            bins,
            ping_pong,
            ..default.clone()
        };
        let sums = |accumulate, fused, stages, subnormals, block: Self| Self {
            accumulate,
            fused,
            stages,
            subnormals,
            ..block
        };
        let (full, log) = (BinStyle::FullWidth, BinStyle::OverflowLog);
        vec![
            sums(Fp16, true, 1, Subnormals::Ieee, set(1, 1, 1, 1, full, true)),
            sums(Fp16, false, 3, Subnormals::Flush, set(1, 2, 3, 90, log, true)),
            sums(Fp32, true, 2, Subnormals::Ieee, set(3, 4, 16, 2048, log, true)),
            sums(Fp16, false, 2, Subnormals::Ieee, set(2, 2, 5, 77, full, false)),
        ]
    }
}
