//! Place of the first one in a word.

use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Signal, Timing, bit, index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct PriorityEncoder {
        /// Bits of the word.
        width: u32 = 32, in 2..=4096, tag "w";
    }
}

ports! {
    /// Ports of [`PriorityEncoder`].
    pub struct PriorityEncoderPorts(p: &PriorityEncoder) {
        /// The word.
        data_i: In = uint(p.width),
        /// Some bit is one.
        found_o: Out = bit(),
        /// Place of the lowest one; 0 without one.
        index_o: Out = uint(index_width(p.width.into())),
    }
}

impl Block for PriorityEncoder {
    type Ports = PriorityEncoderPorts;
    const ABOUT: About = About {
        name: "priority_encoder",
        summary: "place of the lowest one in a word",
        contract: "In the same cycle: found_o = data_i is not 0; index_o = place of the lowest one, 0 without one. A\n\
            tree of depth log2 width.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &PriorityEncoderPorts) {
        let width = index_width(self.width.into());
        let (found, index) = lowest(m, "index", &(0..self.width).map(|k| io.data_i.bit(k)).collect::<Vec<_>>());
        let index = m.wire("index", index.extend(width));
        m.connect(io.found_o, found);
        m.connect(io.index_o, index);
        m.formal(|m| {
            let below = uint(self.width).lit(1).shl_by(io.index_o).wrapping_sub(1);
            m.assert_always("nothing_below", !io.found_o | (io.data_i & below).eq(0));
            m.assert_always("is_one", io.data_i.bit_at(io.index_o).eq(io.found_o));
            m.assert_always("zero_without_one", io.found_o | io.index_o.eq(0));
            m.assert_always("found", io.found_o.eq(io.data_i.any()));
            m.cover("last", io.index_o.eq(self.width - 1));
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}

/// Whether there is a one among `bits`, and the place of the first, 0 without one.
/// Nets for parts, for example for bits 4 to 7, are `<name>_4_to_7_found` and `<name>_4_to_7`.
#[track_caller]
pub(crate) fn lowest(m: &mut Module, name: &str, bits: &[Signal]) -> (Signal, Signal) {
    lowest_of(m, name, bits, 0)
}

#[track_caller]
fn lowest_of(m: &mut Module, name: &str, bits: &[Signal], first: usize) -> (Signal, Signal) {
    match bits {
        [one] => (*one, uint(1).lit(0)),
        [low, high] => (*low | *high, !*low & *high),
        many => {
            // The lower half is a power of two, so that its number is one bit of the index.
            let half = 1 << (usize::BITS - (many.len() - 1).leading_zeros() - 1);
            let mut part = |bits: &[Signal], first: usize| {
                let (found, index) = lowest_of(m, name, bits, first);
                if bits.len() < 2 {
                    return (found, index);
                }
                let part = format!("{name}_{first}_to_{}", first + bits.len() - 1);
                (m.wire(&format!("{part}_found"), found), m.wire(&part, index))
            };
            let (low_found, low) = part(&many[..half], first);
            let (high_found, high) = part(&many[half..], first + half);
            let width = low.width();
            let high = if high.width() < width { high.extend(width) } else { high };
            let upper = !low_found & high_found;
            let index = crate::lang::cat(&[upper, mux(low_found, low, high)]);
            (low_found | high_found, index)
        }
    }
}

impl CatalogBlock for PriorityEncoder {
    fn configurations() -> Vec<Self> {
        [2, 3, 7, 64, 100].map(|width| Self { width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        [3, 9].map(|width| Proof { block: Self { width }, depth: 2, cover_depth: 2, induction: true }).into()
    }
}
