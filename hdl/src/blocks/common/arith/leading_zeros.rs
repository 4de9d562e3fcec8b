//! Zeros above the highest one of a word: the shift that normalises it.

use super::priority_encoder::lowest;
use crate::lang::{About, Block, CatalogBlock, In, Module, Out, Proof, Timing, bits_for, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct LeadingZeros {
        /// Bits of the word.
        width: u32 = 32, in 2..=4096, tag "w";
    }
}

ports! {
    /// Ports of [`LeadingZeros`].
    pub struct LeadingZerosPorts(p: &LeadingZeros) {
        /// The word.
        data_i: In = uint(p.width),
        /// Zeros above its highest one, in the same cycle; the width where it has none.
        count_o: Out = uint(bits_for(p.width.into())),
    }
}

impl Block for LeadingZeros {
    type Ports = LeadingZerosPorts;
    const ABOUT: About = About {
        name: "leading_zeros",
        summary: "zeros above the highest one of a word",
        contract: "count_o = zeros above the highest one of data_i, width where data_i is 0, in the same cycle. A tree of depth log2 width.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &LeadingZerosPorts) {
        let ty = uint(bits_for(self.width.into()));
        let (found, index) = lowest(m, "zeros", &(0..self.width).rev().map(|k| io.data_i.bit(k)).collect::<Vec<_>>());
        m.connect(io.count_o, mux(found, index.extend(ty.width), ty.lit(self.width)));
        m.formal(|m| {
            let shifted = io.data_i.shl_by(io.count_o);
            m.assert_always("normalises", shifted.msb() | io.data_i.eq(0));
            m.assert_always("loses_nothing", shifted.shr_by(io.count_o).eq(io.data_i));
            m.assert_always("all_of_zero", io.data_i.any() | io.count_o.eq(self.width));
            m.cover("one", io.count_o.eq(self.width - 1));
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}

impl CatalogBlock for LeadingZeros {
    fn configurations() -> Vec<Self> {
        [2, 3, 7, 64, 100].map(|width| Self { width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        [3, 9].map(|width| Proof { block: Self { width }, depth: 2, cover_depth: 2, induction: true }).into()
    }
}
