//! Inverse of stable compaction: elements from lane 0 on return to the lanes of a mask, in order.
//!
//! The moves are those of [`super::Compactor`], stage by stage backwards: the longest first, upwards.

use serde::{Deserialize, Serialize};

use super::compactor::{OLD_PARAMETERS, compact, expand, routes, stages};
use crate::lang::{
    About, Block, CatalogBlock, InArray, Module, OldParameter, Out, OutArray, ParamError, Proof, bit, bits_for,
    ensure_param, old_parameters, ports, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expander {
    /// Number of lanes.
    pub lanes: u32,
    /// Width of an element in bits.
    pub width: u32,
}

ports! {
    /// Ports of [`Expander`].
    pub struct ExpanderPorts(p: &Expander) {
        /// The lanes to fill.
        mask_i: InArray = bit().array(p.lanes),
        /// Elements, from lane 0 on; those past the number of ones in the mask are ignored.
        data_i: InArray = uint(p.width).array(p.lanes),
        /// Elements in the lanes of the mask; zero elsewhere.
        data_o: OutArray = uint(p.width).array(p.lanes),
        /// How many are placed.
        count_o: Out = uint(bits_for(u64::from(p.lanes))),
    }
}

old_parameters!(Expander);

impl Block for Expander {
    type Ports = ExpanderPorts;
    const ABOUT: About = About {
        name: "expander",
        summary: "moves elements back to the lanes of a mask, in order",
        contract: "data_o of the k-th lane whose mask_i is high is data_i[k]; it is 0 in the other lanes;\n\
            count_o is the number of lanes filled. Combinational, depth O(log lanes).",
        reference: "Titanus, section 4.4 (reconstruction from index and label)",
    };

    fn module_name(&self) -> String {
        format!("expander_l{}_w{}", self.lanes, self.width)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 2..=256)?;
        ensure_param("width", self.width, 1..=64)
    }

    fn build(&self, m: &mut Module, io: &ExpanderPorts) {
        let routes = routes(m, io.mask_i);
        let out = expand(m, &routes, io.mask_i, io.data_i);
        m.unused(routes.filled);
        m.connect_each("out", io.data_o, out);
        m.connect(io.count_o, routes.count);
        m.formal(|m| {
            // Both ways round: compacting what was expanded gives back what went in, as far as the mask reaches, ...
            let again = compact(m, &routes, out);
            for lane in 0..self.lanes {
                let used = routes.count.gt(lane);
                let same = again.at(lane).eq(io.data_i.at(lane));
                m.assert_always(&format!("compacts_to_input_{lane}"), !used | same);
            }
            // ... and every lane of the mask, and no other, holds something when all elements are not 0.
            let all =
                crate::lang::reduce(&io.data_i.elements().iter().map(|d| d.any()).collect::<Vec<_>>(), |a, b| a & b);
            let all = m.wire("all_nonzero", all.unwrap_or_else(|| bit().lit(1)));
            for lane in 0..self.lanes {
                let wrong = out.at(lane).any() ^ io.mask_i.at(lane);
                m.assert_always(&format!("fills_mask_{lane}"), !(all & wrong));
            }
            m.cover("highest_lane_only", routes.count.eq(1) & io.mask_i.at(self.lanes - 1) & all);
        });
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("cycles".into(), 0), ("network_stages".into(), u64::from(stages(self.lanes)))]
    }
}

impl Default for Expander {
    fn default() -> Self {
        Self { lanes: 32, width: 8 }
    }
}

impl CatalogBlock for Expander {
    const OLD_PARAMETERS: &'static [OldParameter] = OLD_PARAMETERS;

    fn configurations() -> Vec<Self> {
        [(2, 1), (5, 3), (33, 2)].map(|(lanes, width)| Self { lanes, width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        [(2, 3), (5, 2), (8, 2)]
            .map(|(lanes, width)| Proof { block: Self { lanes, width }, depth: 1, cover_depth: 1, induction: true })
            .into()
    }
}
