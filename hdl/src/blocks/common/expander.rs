//! Inverse of stable compaction: elements from lane 0 on return to the lanes of a mask, in order.
//!
//! It makes the moves of [`super::Compactor`] stage by stage backwards: the longest first, upwards.

use super::compactor::{expand, ranks, routes};
use crate::lang::{
    About, Block, CatalogBlock, InArray, Module, Out, OutArray, Proof, Timing, bit, bits_for, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct Expander {
        /// Number of lanes.
        lanes: u32 = 32, in 2..=256, tag "l";
        /// Width of an element in bits.
        width: u32 = 8, in 1..=64, tag "w";
    }
}

ports! {
    /// Ports of [`Expander`].
    pub struct ExpanderPorts(p: &Expander) {
        /// The lanes to fill.
        mask_i: InArray = bit().array(p.lanes),
        /// Elements, from lane 0 on; elements past the number of ones in the mask are ignored.
        data_i: InArray = uint(p.width).array(p.lanes),
        /// Elements in the lanes of the mask; zero elsewhere.
        data_o: OutArray = uint(p.width).array(p.lanes),
        /// How many are placed.
        count_o: Out = uint(bits_for(u64::from(p.lanes))),
    }
}

impl Block for Expander {
    type Ports = ExpanderPorts;
    const ABOUT: About = About {
        name: "expander",
        summary: "moves elements back to the lanes of a mask, in order",
        contract: "data_o of the k-th lane whose mask_i is high is data_i[k]; it is 0 in the other lanes; \
            count_o is the number of lanes filled. Combinational, depth O(log lanes).",
        reference: "Titanus, section 4.4 (reconstruction from index and label)",
    };

    fn build(&self, m: &mut Module, io: &ExpanderPorts) {
        let routes = routes(m, io.mask_i);
        let out = expand(m, &routes, io.mask_i, io.data_i);
        m.connect_each("out", io.data_o, out);
        m.connect(io.count_o, routes.count);
        m.formal(|m| {
            let (rank, total) = ranks(m, io.mask_i);
            m.for_each("lanes", self.lanes, |m, lane| {
                let wanted = io.data_i.at(rank.at(lane)) & io.mask_i.at(lane).repeat(self.width);
                m.assert_always("placed_in_order", io.data_o.at(lane).eq(wanted));
            });
            m.assert_always("counts_lanes", io.count_o.eq(total));
            let highest = self.lanes - 1;
            m.cover("highest_lane_only", io.count_o.eq(1) & io.mask_i.at(highest) & io.data_o.at(highest).any());
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}

impl CatalogBlock for Expander {
    fn configurations() -> Vec<Self> {
        [(2, 1), (5, 3), (33, 2)].map(|(lanes, width)| Self { lanes, width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        [(2, 3), (5, 2), (8, 2)]
            .map(|(lanes, width)| Proof { block: Self { lanes, width }, depth: 1, cover_depth: 1, induction: true })
            .into()
    }
}
