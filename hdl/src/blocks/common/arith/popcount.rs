//! Number of ones in a word.

use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Signal, Timing, bit, bits_for, parameters, ports, reduce, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct Popcount {
        /// Bits of the word.
        width: u32 = 32, in 1..=4096, tag "w";
    }
}

ports! {
    /// Ports of [`Popcount`].
    pub struct PopcountPorts(p: &Popcount) {
        /// The word.
        data_i: In = uint(p.width),
        /// Number of its ones, in the same cycle.
        count_o: Out = uint(bits_for(p.width.into())),
    }
}

impl Block for Popcount {
    type Ports = PopcountPorts;
    const ABOUT: About = About {
        name: "popcount",
        summary: "number of ones in a word",
        contract: "count_o = number of ones in data_i, in the same cycle. A balanced tree of adders.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &PopcountPorts) {
        let bits: Vec<Signal> = (0..self.width).map(|k| io.data_i.bit(k)).collect();
        m.connect(io.count_o, ones(&bits));
        if self.width > 1 {
            m.formal(|m| {
                // Without a clock: against the plain sum, bit after bit.
                let wide = bits_for(self.width.into());
                let plain = bits.iter().fold(uint(wide).lit(0), |sum, b| sum.wrapping_add(b.extend(wide)));
                m.assert_always("is_the_sum", io.count_o.eq(plain));
                m.cover("all_ones", io.count_o.eq(self.width));
            });
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0u64)
    }
}

impl CatalogBlock for Popcount {
    fn configurations() -> Vec<Self> {
        [1, 2, 7, 64, 100].map(|width| Self { width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        [3, 9].map(|width| Proof { block: Self { width }, depth: 2, cover_depth: 2, induction: true }).into()
    }
}

/// Number of ones among `bits`, as wide as it needs to be: a balanced tree of sums.
#[track_caller]
#[must_use]
pub fn ones(bits: &[Signal]) -> Signal {
    let sum = reduce(bits, |a, b| a + b).unwrap_or_else(|| bit().lit(0));
    sum.truncate(bits_for(bits.len() as u64))
}
