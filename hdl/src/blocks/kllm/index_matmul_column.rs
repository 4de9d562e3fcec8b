//! One column of the index-based MatMul: pairs of indices in, one output out.
//!
//! KLLM sections III-B and IV-A: concat units, an index distribution counter, a MAC that sums the distribution, and the
//! scales. While the counter takes a column, the MAC sums the one before; with K = 4096, 16 pairs a cycle and 256 bins
//! both take 256 cycles.
//!
//! **Outliers** are absent from the dense sum: the concat units drop them. The sparse path adds their products
//! elsewhere.
//!
//! **Scales.** y = fp16(fp16(s_a * s_w) * fp16(sum)). One fp16 multiplier does both, in two cycles: the scales of a
//! column while its bins are drained, the output when its sum is there.
//!
//! The codebook (fp16 products; in integer mode the centroids of the activations) is inside, so that the block stands
//! alone. Columns that work in step would share one.

use super::concat_unit::ConcatUnit;
use super::fp16_mac::Fp16Mac;
use super::index_distribution_counter::{BinStyle, IndexBeat, IndexDistributionCounter};
use super::weighted_sum::{ColumnSum, WeightedSum};
use crate::blocks::common::{FloatConvert, FloatFormat, FloatMul, StreamFifo, Subnormals};
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, In, InStream, Module, OutStream, Signal, Stream, Timing, bit,
    bundle, cat, connect_all, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct IndexMatmulColumn {
        /// The counter, and with it what a column is made of.
        counter: IndexDistributionCounter = IndexDistributionCounter::default();
        /// The multiply-add that sums the distribution.
        mac: Fp16Mac = Fp16Mac::default();
    }
    rules = |p, rules| p.sum().doubt(rules);
}

bundle! {
    /// Pairs of an activation and a weight.
    pub struct PairBeat(p: IndexDistributionCounter) {
        /// Indices of activations.
        a: FieldArray = uint(p.a_bits).array(p.inputs),
        /// Indices of weights, or integers.
        w: FieldArray = uint(p.b_bits).array(p.inputs),
        /// The position belongs to the column.
        present: FieldArray = bit().array(p.inputs),
        /// The dense sum goes without the position.
        outlier: FieldArray = bit().array(p.inputs),
        /// w holds integers; counts with the first beat of a column.
        integer: Field = bit(),
        /// Activations have a bit less than they could; counts with the last beat.
        half: Field = bit(),
        /// The column ends with this beat.
        last: Field = bit(),
        /// Scale of the activations, fp16; counts with the last beat.
        scale_a: Field = uint(16),
        /// Scale of the weights, fp16; counts with the last beat.
        scale_w: Field = uint(16),
    }
}

bundle! {
    /// The output of a column.
    pub struct ColumnOutput(none: ()) {
        /// y, fp16.
        value: Field = uint(16),
        /// y is wrong: the column had more than k pairs, or a bin had a count of 65,520 or more, which is infinite in
        /// fp16.
        error: Field = bit(),
    }
}

ports! {
    /// Ports of [`IndexMatmulColumn`].
    pub struct IndexMatmulColumnPorts(p: &IndexMatmulColumn) {
        /// A codebook entry is written at this edge. A column that is being summed takes the old or the new value.
        codebook_write_i: In = bit(),
        /// Its bin: {a, w}, in integer mode a.
        codebook_bin_i: In = uint(p.counter.a_bits + p.counter.b_bits),
        /// Its value, fp16.
        codebook_value_i: In = uint(16),
        /// Pairs are offered.
        pairs: InStream<PairBeat> = p.counter.clone(),
        /// The output of a column is there.
        y: OutStream<ColumnOutput> = (),
    }
}

impl IndexMatmulColumn {
    fn sum(&self) -> WeightedSum {
        let largest = u64::from(self.counter.k) * ((1 << self.counter.b_bits) - 1);
        WeightedSum { largest_count: u32::try_from(largest).unwrap_or(u32::MAX), mac: self.mac.clone() }
    }

    /// Cycles from taking the first beat to offering y, without pauses, for a column of `beats` beats and `bins` bins.
    #[must_use]
    pub fn cycles(&self, beats: u64, bins: u64) -> u64 {
        // Concat, swap, sum, scale.
        beats + bins + 1 + u64::from(self.counter.ping_pong) + u64::from(self.mac.stages)
    }
}

impl Block for IndexMatmulColumn {
    type Ports = IndexMatmulColumnPorts;
    const ABOUT: About = About {
        name: "index_matmul_column",
        summary: "one output of an index-based MatMul: count, sum, scale",
        contract: "For each column (beats up to one with last): y = fp16(fp16(scale_a * scale_w) * fp16(sum)),\n\
            sum = the sum of fp16(count) * codebook in bin order from +0. count is the number of pairs that have the\n\
            bin's indices, with present and without outlier (with integer: the sum of their w). Counts are exact in\n\
            fp16 up to 2048 and rounded to nearest even above. error says that y is wrong: the column had more than\n\
            k pairs, or a count of 65,520 or more. Such a column harms no other one. Without pauses: y after\n\
            beats + bins + stages + 2 cycles, a column every max(beats, bins). Reset drops all columns that are\n\
            inside at any time and keeps the codebook; the next beat begins a column.",
        reference: "KLLM, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &IndexMatmulColumnPorts) {
        let counter = m.instance("u_counter", self.counter.clone());
        let full = m.net("scales_full", bit());
        let last = self.concatenate(m, io, full, &counter.indices);

        let codebook = m.memory("codebook", 1 << (self.counter.a_bits + self.counter.b_bits), 16, 16);
        codebook.write(io.codebook_write_i, io.codebook_bin_i, io.codebook_value_i);
        let centroid = codebook.read_async("centroid", counter.bins.bin);
        let sum = m.instance("u_sum", self.sum());
        m.connect_handshake(&sum.bins, &counter.bins);
        m.connect(sum.bins.count, counter.bins.count);
        m.connect(sum.bins.centroid, centroid);
        connect_all!(m, sum.bins, counter.bins, [error, last]);

        self.scale(m, io, last, full, &sum.sum);
    }

    fn timing(&self) -> Timing {
        let counter = &self.counter;
        let beats = u64::from(counter.k.div_ceil(counter.inputs));
        let bins = counter.drained_bins(false, false);
        Timing::pipeline(self.cycles(beats, bins)).initiation(if counter.ping_pong {
            beats.max(bins)
        } else {
            beats + bins
        })
    }
}

impl IndexMatmulColumn {
    /// The concat units, a rank of registers of the stream. Returns the cycle in which a last beat enters them.
    fn concatenate(&self, m: &mut Module, io: &IndexMatmulColumnPorts, full: Signal, to: &Stream<IndexBeat>) -> Signal {
        let valid = m.reg_init("pairs_valid_q", bit(), 0);
        m.connect(io.pairs.ready, (!valid.q | to.ready) & !full);
        let takes = m.wire("takes", io.pairs.fire());
        valid.next(takes | (valid.q & !to.ready));
        m.connect(to.valid, valid.q);
        for (name, from, to) in [
            ("pairs_integer_q", io.pairs.integer, to.integer),
            ("pairs_half_q", io.pairs.half, to.half),
            ("pairs_last_q", io.pairs.last, to.last),
        ] {
            let register = m.reg(name, bit());
            register.next_when(takes, from);
            m.connect(to, register.q);
        }
        let unit = ConcatUnit { a_bits: self.counter.a_bits, b_bits: self.counter.b_bits };
        m.for_each("pairs", self.counter.inputs, |m, i| {
            let u = m.instance("u_concat", unit);
            m.connect(u.enable_i, takes);
            m.connect(u.valid_i, io.pairs.present.at(i));
            m.connect(u.outlier_i, io.pairs.outlier.at(i));
            m.connect(u.a_i, io.pairs.a.at(i));
            m.connect(u.w_i, io.pairs.w.at(i));
            m.connect(to.index.at(i), u.index_o);
            m.connect(to.present.at(i), u.present_o);
        });
        m.wire("column_ends", takes & io.pairs.last)
    }

    /// Scales wait for the sum of their column: short columns overtake each other up to four deep.
    fn scale(&self, m: &mut Module, io: &IndexMatmulColumnPorts, last: Signal, full: Signal, sum: &Stream<ColumnSum>) {
        let ready = m.reg_init("scale_valid_q", bit(), 0);
        let scales = m.instance("u_scales", StreamFifo::registers(32, 4));
        m.connect(scales.clear_i, 0);
        m.connect(scales.input.valid, last);
        m.connect(scales.input.data.data, cat(&[io.pairs.scale_a, io.pairs.scale_w]));
        m.connect(full, !scales.input.ready);
        m.connect(scales.output.ready, !ready.q);
        let fetch = m.wire("fetch", scales.output.valid & !ready.q);
        let next = scales.output.data.data;

        let y_valid = m.reg_init("y_valid_q", bit(), 0);
        let takes_sum = m.wire("takes_sum", sum.valid & ready.q & (!y_valid.q | io.y.ready));
        m.connect(sum.ready, ready.q & (!y_valid.q | io.y.ready));
        let wrong = sum.error;
        let sum = if self.mac.accumulate == FloatFormat::Fp16 {
            sum.value
        } else {
            let convert = FloatConvert {
                from: self.mac.accumulate,
                to: FloatFormat::Fp16,
                subnormals: self.mac.subnormals,
                ..FloatConvert::default()
            };
            let u = m.instance("u_narrow", convert);
            m.connect(u.valid_i, sum.valid);
            m.connect(u.a_i, sum.value);
            u.result_o
        };
        let scale = m.reg("scale_q", uint(16));
        let mul = FloatMul {
            format: FloatFormat::Fp16,
            stages: 0,
            subnormals: self.mac.subnormals,
            flags: false,
            ..FloatMul::default()
        };
        let mul = m.instance("u_scale", mul);
        m.connect(mul.valid_i, fetch | takes_sum);
        m.connect(mul.a_i, mux(ready.q, scale.q, next.slice(16..32)));
        m.connect(mul.b_i, mux(ready.q, sum, next.slice(0..16)));
        scale.next_when(fetch, mul.result_o);
        ready.next(fetch | (ready.q & !takes_sum));
        let (y, error) = (m.reg("y_q", uint(16)), m.reg("error_q", bit()));
        y.next_when(takes_sum, mul.result_o);
        error.next_when(takes_sum, wrong);
        y_valid.next(takes_sum | (y_valid.q & !io.y.ready));
        m.connect(io.y.valid, y_valid.q);
        m.connect(io.y.value, y.q);
        m.connect(io.y.error, error.q);
    }
}

impl CatalogBlock for IndexMatmulColumn {
    // Columns of one pair give counts of one.
    const SAMPLE: &'static [(&'static str, u32)] = &[("counter.b_bits", 2), ("counter.k", 6)];

    fn configurations() -> Vec<Self> {
        use FloatFormat::{Fp16, Fp32};
        use Subnormals::{Flush, Ieee};
        let set = |a_bits, b_bits, inputs, k, bins, ping_pong| IndexDistributionCounter {
            a_bits,
            b_bits,
            inputs,
            k,
            bins,
            ping_pong,
        };
        let mac = |accumulate, fused, stages, subnormals| Fp16Mac { accumulate, fused, stages, subnormals };
        let (full, log) = (BinStyle::FullWidth, BinStyle::OverflowLog);
        vec![
            Self { counter: set(1, 1, 1, 1, full, true), mac: mac(Fp16, true, 1, Ieee) },
            Self { counter: set(1, 2, 3, 90, log, true), mac: mac(Fp16, false, 3, Flush) },
            Self { counter: set(3, 4, 16, 2048, log, true), mac: mac(Fp32, true, 2, Ieee) },
            Self { counter: set(2, 2, 5, 77, full, false), mac: mac(Fp16, false, 2, Ieee) },
            // Two columns of the largest integers reach the infinities of fp16.
            Self { counter: set(1, 6, 16, 1100, log, true), mac: mac(Fp32, true, 1, Ieee) },
        ]
    }
}
