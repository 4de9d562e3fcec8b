//! Concat unit: a register for the pair of an activation index and a weight index.
//!
//! KLLM section IV-A. The pair is the index of the product; concatenation is wiring, so the unit is its register. The
//! outlier mask takes a position out of the dense sum here, where it costs one gate: the paper's text does not say how
//! the dense path treats outliers, and counting one as some centroid would be wrong.

use crate::lang::{About, Block, CatalogBlock, In, Module, Out, Proof, Timing, bit, cat, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct ConcatUnit {
        /// Width of an activation index in bits.
        a_bits: u32 = 4, in 1..=8, tag "a";
        /// Width of a weight index or integer in bits.
        b_bits: u32 = 4, in 1..=8, tag "b";
    }
}

ports! {
    /// Ports of [`ConcatUnit`].
    pub struct ConcatUnitPorts(p: &ConcatUnit) {
        /// The register takes a pair at this edge; otherwise it holds.
        enable_i: In = bit(),
        /// The pair belongs to the column.
        valid_i: In = bit(),
        /// The activation is an outlier: the dense sum goes without it.
        outlier_i: In = bit(),
        /// Index of the activation.
        a_i: In = uint(p.a_bits),
        /// Index of the weight, or an integer.
        w_i: In = uint(p.b_bits),
        /// Index of the product, `{a, w}` of the pair in the register; unknown before the first pair.
        index_o: Out = uint(p.a_bits + p.b_bits),
        /// The index takes part in the sum; low after reset.
        present_o: Out = bit(),
    }
}

impl Block for ConcatUnit {
    type Ports = ConcatUnitPorts;
    const ABOUT: About = About {
        name: "concat_unit",
        summary: "register for the concatenated index of a product",
        contract: "After an edge with enable_i: index_o = {a_i, w_i} and present_o = valid_i & !outlier_i of before\n\
            it. Without enable_i nothing changes. Reset clears present_o at any time; the next pair may come at\n\
            once.",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &ConcatUnitPorts) {
        let index = m.reg("index_q", uint(self.a_bits + self.b_bits));
        let present = m.reg_init("present_q", bit(), 0);
        index.next_when(io.enable_i, cat(&[io.a_i, io.w_i]));
        present.next_when(io.enable_i, io.valid_i & !io.outlier_i);
        m.connect(io.index_o, index.q);
        m.connect(io.present_o, present.q);
        m.formal(|m| {
            let outlier = m.reg_init("loaded_outlier_q", bit(), 0);
            outlier.next(io.enable_i & io.outlier_i);
            m.assert_always("outlier_is_absent", !(outlier.q & present.q));
            m.cover("takes_part", present.q);
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for ConcatUnit {
    fn configurations() -> Vec<Self> {
        let set = |a_bits, b_bits| Self { a_bits, b_bits };
        vec![set(1, 1), set(3, 4), set(8, 8)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof { block: Self { a_bits: 1, b_bits: 1 }, depth: 6, cover_depth: 6, induction: true }]
    }
}
