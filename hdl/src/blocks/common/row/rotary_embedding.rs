//! Rotary position embedding: pairs of elements are turned by angles. The cosines and sines of the angles come as a
//! stream, for example from a table in memory.

use super::pipe::later;
use super::section::Section;
use crate::blocks::common::{FloatFma, FloatMul};
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, In, InStream, Module, Out, OutStream, Signal, Timing, bit, bits_for,
    bundle, cat, choices, multiple_of, parameters, ports, uint,
};

choices! {
    /// Which elements of a beat are a pair.
    pub enum RotaryPairs {
        /// Elements 2i and 2i + 1.
        Neighbours,
        /// Elements i and i + lanes / 2: a beat holds as much of a head's first half as of its second.
        Halves,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct RotaryEmbedding {
        /// Elements of a beat.
        lanes: u32 = 8, in multiple_of(2, 2..=256), tag "l";
        /// Which elements are a pair.
        pairs: RotaryPairs = RotaryPairs::Neighbours, tag "";
        /// Ranks of registers in a product.
        mul_stages: u32 = 2, in 0..=32, tag "m";
        /// Ranks of registers in a product with a sum.
        fma_stages: u32 = 5, in 0..=32, tag "f";
        /// A rank between the two as well, so that no path goes through both.
        apart: bool = false, tag "apart";
    }
    rules = |p, rules| {
        rules.part("mul_stages", &p.mul());
        rules.part("fma_stages", &p.fma());
    };
}

bundle! {
    /// Part of a row.
    pub struct RotaryBeat(lanes: u32) {
        /// fp16 numbers.
        values: FieldArray = uint(16).array(*lanes),
        /// Number of elements in use, from the first one on; passed on unchanged.
        used: Field = uint(bits_for((*lanes).into())),
        /// The beat is the last one of its row.
        last: Field = bit(),
    }
}

bundle! {
    /// Angles of the pairs of a beat.
    pub struct AngleBeat(pairs: u32) {
        /// Cosines, fp16.
        cosines: FieldArray = uint(16).array(*pairs),
        /// Sines, fp16.
        sines: FieldArray = uint(16).array(*pairs),
    }
}

ports! {
    /// Ports of [`RotaryEmbedding`].
    pub struct RotaryEmbeddingPorts(p: &RotaryEmbedding) {
        /// Drops everything inside at the coming edge. Nothing is taken in this cycle; a beat that leaves in this cycle
        /// has left.
        clear_i: In = bit(),
        /// Rows that come.
        input: InStream<RotaryBeat> = p.lanes,
        /// Angles, a beat for each beat of input.
        angle: InStream<AngleBeat> = p.lanes / 2,
        /// The same rows, turned.
        output: OutStream<RotaryBeat> = p.lanes,
        /// A beat begins in this cycle.
        computing_o: Out = bit(),
    }
}

impl RotaryEmbedding {
    fn mul(&self) -> FloatMul {
        FloatMul { stages: self.mul_stages, ..FloatMul::default() }
    }

    fn fma(&self) -> FloatFma {
        FloatFma { stages: self.fma_stages, ..FloatFma::default() }
    }

    /// Cycles in the arithmetic.
    fn arithmetic(&self) -> u32 {
        self.mul_stages + u32::from(self.apart) + self.fma_stages + 1
    }

    /// Cycles from the first beat that is offered to the last one that leaves, of `beats` that never wait.
    #[must_use]
    pub fn cycles(&self, beats: u32) -> u32 {
        self.arithmetic() + 1 + beats
    }

    /// a * b + c * d of fp16 numbers, `minus`: a * b - c * d; the second product is rounded, then the sum.
    fn turned(
        &self,
        m: &mut Module,
        name: &str,
        (a, b): (Signal, Signal),
        (c, d): (Signal, Signal),
        minus: bool,
    ) -> Signal {
        let product = m.instance(&format!("u_{name}_product"), self.mul());
        m.connect(product.valid_i, 1);
        m.connect(product.a_i, c);
        m.connect(product.b_i, d);
        m.unused(product.valid_o);
        let other = product.result_o;
        let other = if minus { cat(&[!other.msb(), other.slice(0..15)]) } else { other };
        let between = u32::from(self.apart);
        let other = later(m, &format!("{name}_other"), other, between);
        let before = self.mul_stages + between;
        let (a, b) = (later(m, &format!("{name}_a"), a, before), later(m, &format!("{name}_b"), b, before));
        let sum = m.instance(&format!("u_{name}_sum"), self.fma());
        m.connect(sum.valid_i, 1);
        m.connect(sum.a_i, a);
        m.connect(sum.b_i, b);
        m.connect(sum.c_i, other);
        m.unused(sum.valid_o);
        later(m, &format!("{name}_out"), sum.result_o, 1)
    }
}

impl Block for RotaryEmbedding {
    type Ports = RotaryEmbeddingPorts;
    const ABOUT: About = About {
        name: "rotary_embedding",
        summary: "rotary position embedding: pairs of fp16 elements turned by angles from a stream",
        contract: "A pair (a, b) with cosine c and sine s becomes (fma(a, c, -(b * s)), fma(b, c, a * s)). b * s and\n\
            a * s are rounded to fp16, then the sums, to nearest, ties to even. Infinities and NaNs are treated as\n\
            in float_mul and float_fma. A beat begins when its angles are here.\n\
            clear_i drops everything inside, and may come at any time.",
        reference: "Su et al., RoFormer, arXiv:2104.09864",
    };

    fn build(&self, m: &mut Module, io: &RotaryEmbeddingPorts) {
        let (lanes, pairs) = (self.lanes, self.lanes / 2);
        let width = 16 * lanes + 1 + io.input.used.width();
        let section = Section::new(m, "turn", (self.arithmetic(), width), io.clear_i);
        let begins = m.wire("begins", io.input.valid & io.angle.valid & section.room);
        m.connect(io.input.ready, io.angle.valid & section.room);
        m.connect(io.angle.ready, io.input.valid & section.room);
        m.connect(io.computing_o, begins);
        m.connect(section.enters, begins);
        let y = m.nets("y", uint(16), lanes);
        m.for_each("pair", pairs, |m, i| {
            let (first, second) = match self.pairs {
                RotaryPairs::Neighbours => (i * 2, i * 2 + 1),
                RotaryPairs::Halves => (i, i + pairs),
            };
            let (a, b) = (io.input.values.at(first), io.input.values.at(second));
            let (cosine, sine) = (io.angle.cosines.at(i), io.angle.sines.at(i));
            let left = self.turned(m, "first", (a, cosine), (b, sine), true);
            m.connect(y.at(first), left);
            let right = self.turned(m, "second", (b, cosine), (a, sine), false);
            m.connect(y.at(second), right);
        });
        let rest = later(m, "rest", cat(&[io.input.last, io.input.used]), self.arithmetic());
        section.catch(m, "turn", begins, cat(&[rest, y.packed()]), io.clear_i);
        let fifo = &section.fifo;
        m.connect_handshake(&io.output, &fifo.output);
        m.connect(section.leaves, io.output.fire());
        let word = m.wire("result", fifo.output.data.data);
        let result = m.split("result_values", word.slice(0..16 * lanes), uint(16).array(lanes));
        m.connect_each("output_values", io.output.values, result);
        m.connect(io.output.used, word.slice(16 * lanes..width - 1));
        m.connect(io.output.last, word.msb());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.arithmetic() + 1)
    }
}

impl CatalogBlock for RotaryEmbedding {
    fn configurations() -> Vec<Self> {
        let set = |lanes, pairs, mul_stages, fma_stages, apart| Self { lanes, pairs, mul_stages, fma_stages, apart };
        vec![set(2, RotaryPairs::Neighbours, 0, 0, false), set(6, RotaryPairs::Halves, 1, 3, true)]
    }
}
