//! Inverse of stable compaction: elements from lane 0 on return to the lanes of a mask, in order.
//!
//! It makes the moves of [`super::Compactor`] stage by stage backwards: the longest first, upwards.

use super::compactor::{expand, ranks, routes};
use crate::lang::{
    About, Block, CatalogBlock, InArray, Module, Out, OutArray, Proof, Timing, bit, bits_for, mux, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct Expander {
        /// Number of lanes.
        lanes: u32 = 32, in 2..=256, tag "l";
        /// Width of an element in bits.
        width: u32 = 8, in 1..=64, tag "w";
        /// Elements outside of the mask may be anything; otherwise they are 0.
        open: bool = false, tag "open";
    }
}

ports! {
    /// Ports of [`Expander`].
    pub struct ExpanderPorts(p: &Expander) {
        /// The lanes to fill.
        mask_i: InArray = bit().array(p.lanes),
        /// Elements, from lane 0 on; elements past the number of ones in the mask are ignored.
        data_i: InArray = uint(p.width).array(p.lanes),
        /// Elements in the lanes of the mask; elsewhere zero, or anything with `open`.
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
        contract: "data_o of the k-th lane whose mask_i is high is data_i[k]; it is 0 in the other lanes, or \
            anything with `open`; count_o is the number of lanes filled. Combinational, depth O(log lanes).",
        reference: "Titanus, section 4.4 (reconstruction from index and label)",
    };

    fn build(&self, m: &mut Module, io: &ExpanderPorts) {
        let routes = routes(m, io.mask_i);
        let mask = (!self.open).then_some(io.mask_i);
        let out = expand(m, &routes, mask, io.data_i);
        m.connect_each("out", io.data_o, out);
        m.connect(io.count_o, routes.count);
        m.formal(|m| {
            let (rank, total) = ranks(m, io.mask_i);
            m.for_each("lanes", self.lanes, |m, lane| {
                let placed = io.data_o.at(lane).eq(io.data_i.at(rank.at(lane)));
                let empty = if self.open { bit().lit(1) } else { !io.data_o.at(lane).any() };
                m.assert_always("placed_in_order", mux(io.mask_i.at(lane), placed, empty));
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
        [(2, 1, false), (5, 3, false), (33, 2, false), (6, 4, true)]
            .map(|(lanes, width, open)| Self { lanes, width, open })
            .into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |lanes, width, open| Proof {
            block: Self { lanes, width, open },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![proof(2, 3, false), proof(5, 2, false), proof(8, 2, false), proof(5, 2, true)]
    }
}
