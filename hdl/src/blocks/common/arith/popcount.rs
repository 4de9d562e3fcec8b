//! Number of ones in a word.

use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Signal, Timing, bit, bits_for, parameters, ports, uint,
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
        let count = ones(m, "count", &bits);
        m.connect(io.count_o, count);
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
        Timing::new().latency(0)
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

/// Number of ones among `bits`, as wide as it needs to be: a balanced tree of sums. The net `name` has the number; nets
/// such as `<name>_4_to_7` have the ones among four of the bits.
#[track_caller]
pub fn ones(m: &mut Module, name: &str, bits: &[Signal]) -> Signal {
    let sum = sum_of(m, name, bits, 0).truncate(bits_for(bits.len() as u64));
    m.wire(name, sum)
}

/// The ones among `bits`, of which the first has this number. Sums of parts get names.
#[track_caller]
fn sum_of(m: &mut Module, name: &str, bits: &[Signal], first: usize) -> Signal {
    match bits {
        [] => bit().lit(0),
        [one] => *one,
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            let mut part = |bits: &[Signal], first: usize| {
                let sum = sum_of(m, name, bits, first);
                if bits.len() < 2 { sum } else { m.wire(&format!("{name}_{first}_to_{}", first + bits.len() - 1), sum) }
            };
            part(left, first) + part(right, first + left.len())
        }
    }
}
