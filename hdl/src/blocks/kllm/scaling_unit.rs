//! Scaling unit: exact sums of columns become fp16 results.
//!
//! KLLM section III-D: sums of centroids times both scales, plus sums of outliers times the weights' scale. The scale
//! of a token is multiplied into a channel's factor first, so that a sum is multiplied once. Sums become fp32 with one
//! rounding. Each later step rounds once, and the last one to fp16.
//!
//! Nothing inside is held up: a beat begins when there is a place for its results.

mod properties;

use crate::blocks::common::row::{Section, later};
use crate::blocks::common::{FloatAdd, FloatConvert, FloatFormat, FloatFromInt, FloatMul};
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, In, InStream, Index, Module, OutStream, Proof, Signal, Timing, bit,
    bundle, cat, mux, parameters, ports, sint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ScalingUnit {
        /// Columns of a beat.
        columns: u32 = 1, in 1..=64, tag "c";
        /// Width of the sum of a column in bits, signed.
        dense_width: u32 = 40, in 2..=64, tag "d";
        /// Width of the sum of its outliers in bits, signed.
        outlier_width: u32 = 58, in 2..=64, tag "o";
        /// Ranks of registers in each conversion, of sums and scales to fp32 and of results to fp16.
        convert_stages: u32 = 2, in 0..=2, tag "v";
        /// Ranks of registers in each product.
        mul_stages: u32 = 4, in 0..=32, tag "m";
        /// Ranks of registers in the sum.
        add_stages: u32 = 4, in 0..=32, tag "a";
        /// Registers between the units too, so that no path goes through two of them.
        apart: bool = true, tag "apart";
        /// Format of factors and of intermediate results.
        wide: FloatFormat = FloatFormat::Fp32;
        /// Format of scales and results.
        narrow: FloatFormat = FloatFormat::Fp16;
    }
    rules = |p, rules| {
        rules.part("mul_stages", &p.mul());
        rules.part("add_stages", &p.adder());
        rules.part("wide", &p.convert(p.narrow, p.wide));
    };
}

bundle! {
    /// Sums of columns of one token.
    pub struct ScaledSums(p: ScalingUnit) {
        /// Sums of centroids.
        dense: FieldArray = sint(p.dense_width).array(p.columns),
        /// Sums of outliers, in units of 2^-24.
        outliers: FieldArray = sint(p.outlier_width).array(p.columns),
        /// The token's scale: fp16, or `narrow`.
        scale: Field = p.narrow.ty(),
        /// An outlier had no value, so the results have none.
        special: Field = bit(),
        /// Goes along.
        error: Field = bit(),
        /// Goes along.
        last: Field = bit(),
    }
}

bundle! {
    /// Factors of the columns of a beat.
    pub struct ScalingFactors(p: ScalingUnit) {
        /// Of sums of centroids, beside the token's scale: fp32, or `wide`.
        dense: FieldArray = p.wide.ty().array(p.columns),
        /// Of sums of outliers: the same.
        outliers: FieldArray = p.wide.ty().array(p.columns),
    }
}

bundle! {
    /// Results of columns.
    pub struct ScaledResults(p: ScalingUnit) {
        /// fp16, or `narrow`.
        values: FieldArray = p.narrow.ty().array(p.columns),
        /// They are infinite or no numbers.
        overflow: FieldArray = bit().array(p.columns),
        /// As it came with the sums.
        error: Field = bit(),
        /// As it came with the sums.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`ScalingUnit`].
    pub struct ScalingUnitPorts(p: &ScalingUnit) {
        /// Drops all that is inside at the coming edge; nothing is taken in this cycle, and what leaves in it has left.
        clear_i: In = bit(),
        /// Sums.
        sums: InStream<ScaledSums> = p.clone(),
        /// Factors, a beat for each beat of sums.
        factors: InStream<ScalingFactors> = p.clone(),
        /// Results.
        results: OutStream<ScaledResults> = p.clone(),
    }
}

impl ScalingUnit {
    fn mul(&self) -> FloatMul {
        FloatMul { format: self.wide, stages: self.mul_stages, ..FloatMul::default() }
    }

    fn adder(&self) -> FloatAdd {
        FloatAdd { format: self.wide, stages: self.add_stages, ..FloatAdd::default() }
    }

    fn convert(&self, from: FloatFormat, to: FloatFormat) -> FloatConvert {
        FloatConvert { from, to, stages: self.convert_stages, ..FloatConvert::default() }
    }

    fn int_to_float(&self, width: u32) -> FloatFromInt {
        let stages = self.convert_stages;
        FloatFromInt { format: self.wide, width, stages, ..FloatFromInt::default() }
    }

    fn between(&self) -> u32 {
        u32::from(self.apart)
    }

    /// Cycles in the arithmetic: scale, its product with a factor, the product with a sum, the sum of both, the result.
    fn arithmetic(&self) -> u32 {
        2 * (self.convert_stages + self.mul_stages) + self.add_stages + 4 * self.between() + 1
    }

    /// Cycles from the one in which the first of `beats` is offered to the one in which the last one leaves, both
    /// counted, if none waits.
    #[must_use]
    pub fn cycles(&self, beats: u64) -> u64 {
        u64::from(self.arithmetic()) + 1 + beats
    }

    fn product(&self, m: &mut Module, name: &str, a: Signal, b: Signal) -> Signal {
        let u = m.instance(&format!("u_{name}"), self.mul());
        m.connect(u.valid_i, 1);
        m.connect(u.a_i, a);
        m.connect(u.b_i, b);
        m.unused(u.valid_o);
        later(m, name, u.result_o, self.between())
    }

    fn single(&self, m: &mut Module, name: &str, sum: Signal) -> Signal {
        let u = m.instance(&format!("u_{name}"), self.int_to_float(sum.width()));
        m.connect(u.valid_i, 1);
        m.connect(u.a_i, sum);
        m.unused(u.valid_o);
        if let Some(overflow) = u.flags.overflow_o {
            m.unused(overflow);
        }
        later(m, name, u.result_o, self.between())
    }

    /// Whether x is infinite or no number.
    fn is_special(&self, x: Signal) -> Signal {
        let f = self.narrow.fraction_bits();
        x.slice(f..f + self.narrow.exponent_bits()).all()
    }

    /// The canonical NaN.
    fn nan(&self) -> u32 {
        let exponent = (1 << self.narrow.exponent_bits()) - 1;
        (2 * exponent + 1) << (self.narrow.fraction_bits() - 1)
    }

    /// The result of column `c`, without its last register; values without a meaning are not replaced yet.
    fn column(&self, m: &mut Module, io: &ScalingUnitPorts, scale: Signal, c: Index) -> Signal {
        let (converted, multiplied) = (self.convert_stages + self.between(), self.mul_stages + self.between());
        let factor = later(m, "factor", io.factors.dense.at(c), converted);
        let alpha = self.product(m, "alpha", scale, factor);
        let dense = m.wire("dense_sum", io.sums.dense.at(c));
        let dense = self.single(m, "dense", dense);
        let dense = later(m, "dense_waits", dense, multiplied);
        let dense = self.product(m, "dense_scaled", dense, alpha);

        let outliers = m.wire("outlier_sum", io.sums.outliers.at(c));
        let outliers = self.single(m, "outliers", outliers);
        let factor = later(m, "outlier_factor", io.factors.outliers.at(c), converted);
        let outliers = self.product(m, "outliers_scaled", outliers, factor);
        let outliers = later(m, "outliers_wait", outliers, multiplied);

        let sum = m.instance("u_sum", self.adder());
        m.connect(sum.valid_i, 1);
        m.connect(sum.a_i, dense);
        m.connect(sum.b_i, outliers);
        m.unused(sum.valid_o);
        let sum = later(m, "sum", sum.result_o, self.between());
        let half = m.instance("u_half", self.convert(self.wide, self.narrow));
        m.connect(half.valid_i, 1);
        m.connect(half.a_i, sum);
        m.unused(half.valid_o);
        half.result_o
    }
}

impl Block for ScalingUnit {
    type Ports = ScalingUnitPorts;
    const ABOUT: About = About {
        name: "scaling_unit",
        summary: "exact sums of columns to fp16, with the scale of a token and the factors of channels",
        contract: "value = fp16(single(dense) * (scale * factors.dense) + single(outliers) * factors.outliers), in\n\
            fp32, each step rounded to nearest, ties to even; single is the fp32 number nearest to an integer. The\n\
            value is 0x7e00, as every NaN is, where special is high or the scale is infinite or no number. (Other\n\
            formats by parameter.) overflow tells of an infinity or a NaN; error and last go along. Beats of sums\n\
            and of factors are taken together, a beat a cycle, and leave in order, the first one `latency` cycles\n\
            later. clear_i drops all that is inside, and may come at any time.",
        reference: "KLLM, section III-D",
    };

    fn build(&self, m: &mut Module, io: &ScalingUnitPorts) {
        let (columns, arithmetic) = (self.columns, self.arithmetic());
        let (ty, bits) = (self.narrow.ty(), self.narrow.width() * columns);
        let width = bits + 2;
        let section = Section::new(m, "scale", (arithmetic, width), io.clear_i);
        let begins = m.wire("begins", io.sums.valid & io.factors.valid & section.room);
        m.connect(io.sums.ready, io.factors.valid & section.room);
        m.connect(io.factors.ready, io.sums.valid & section.room);
        m.connect(section.enters, begins);

        m.comment("The token's scale in fp32, and whether the results have a value.");
        let single = m.instance("u_scale", self.convert(self.narrow, self.wide));
        m.connect(single.valid_i, 1);
        m.connect(single.a_i, io.sums.scale);
        m.unused(single.valid_o);
        let scale = later(m, "scale", single.result_o, self.between());
        let none = m.wire("no_value", io.sums.special | self.is_special(io.sums.scale));
        let none = later(m, "no_value", none, arithmetic - 1);

        let values = m.regs("value", ty, columns);
        m.for_each("columns", columns, |m, c| {
            let value = self.column(m, io, scale, c);
            values.next(m, c, mux(none, ty.lit(self.nan()), value));
        });
        let marks = later(m, "marks", cat(&[io.sums.last, io.sums.error]), arithmetic);
        section.catch(m, "scale", begins, cat(&[marks, values.q.packed()]), io.clear_i);

        let fifo = &section.fifo;
        m.connect_handshake(&io.results, &fifo.output);
        let leaves = m.wire("leaves", io.results.fire());
        m.connect(section.leaves, leaves);
        let word = m.wire("result", fifo.output.data.data);
        let results = m.split("result_value", word.slice(0..bits), ty.array(columns));
        m.for_each("results", columns, |m, c| {
            m.connect(io.results.values.at(c), results.at(c));
            m.connect(io.results.overflow.at(c), self.is_special(results.at(c)));
        });
        m.connect(io.results.error, word.bit(bits));
        m.connect(io.results.last, word.msb());
        self.properties(m, io, begins);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.arithmetic() + 1)
    }
}

impl CatalogBlock for ScalingUnit {
    fn configurations() -> Vec<Self> {
        let set = |columns, dense_width, outlier_width, stages: [u32; 3], apart| Self {
            columns,
            dense_width,
            outlier_width,
            convert_stages: stages[0],
            mul_stages: stages[1],
            add_stages: stages[2],
            apart,
            ..Self::default()
        };
        let small = Self { wide: FloatFormat::E5m2, narrow: FloatFormat::E3m2, ..set(2, 5, 7, [1, 1, 0], true) };
        vec![small, set(1, 2, 2, [0, 0, 0], false), set(3, 33, 64, [1, 2, 1], true), set(2, 64, 47, [2, 1, 3], false)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self {
            columns: 1,
            dense_width: 2,
            outlier_width: 2,
            convert_stages: 0,
            mul_stages: 0,
            add_stages: 0,
            apart: true,
            wide: FloatFormat::E5m2,
            narrow: FloatFormat::E3m2,
        };
        vec![Proof { block, depth: 9, cover_depth: 12, induction: true }]
    }
}
