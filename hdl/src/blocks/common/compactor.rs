//! Stable compaction: the lanes that a mask selects move together at lane 0, in order.
//!
//! Each selected element moves down by the number of unselected lanes below it. A prefix network counts those in
//! O(log lanes); then stage s moves by 2^s the elements whose count has bit s, lowest bit first. Two elements never meet:
//! among the elements that remain, distances differ by at most the gap between them. The moves of all stages follow from
//! the mask alone, so that [`super::Expander`] runs the same moves backwards.

use serde::{Deserialize, Serialize};

use crate::lang::{
    About, Array, Block, CatalogBlock, InArray, Module, OldParameter, Out, OutArray, ParamError, Proof, Signal, bit,
    bits_for, ensure_param, index_width, mux, old_parameters, ports, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compactor {
    /// Number of lanes.
    pub lanes: u32,
    /// Width of an element in bits.
    pub width: u32,
}

ports! {
    /// Ports of [`Compactor`].
    pub struct CompactorPorts(p: &Compactor) {
        /// The lanes to keep.
        mask_i: InArray = bit().array(p.lanes),
        /// Elements.
        data_i: InArray = uint(p.width).array(p.lanes),
        /// The kept elements from lane 0 on; zero above.
        data_o: OutArray = uint(p.width).array(p.lanes),
        /// How many are kept.
        count_o: Out = uint(bits_for(u64::from(p.lanes))),
    }
}

/// How the elements of a mask move: `moves` is (stage, lane before the stage).
#[derive(Clone, Copy, Debug)]
pub(super) struct Routes {
    moves: Array,
    /// After the last stage: an element is here.
    pub(super) filled: Signal,
    /// Number of ones in the mask.
    pub(super) count: Signal,
}

/// Stages of the network.
pub(super) fn stages(lanes: u32) -> u32 {
    index_width(u64::from(lanes))
}

/// Numbers of ones in `bits[0..=i]`, for all i: a Sklansky prefix network.
fn prefix_counts(m: &mut Module, bits: &[Signal]) -> Vec<Signal> {
    let mut counts = bits.to_vec();
    let mut half = 1;
    while half < bits.len() {
        let before = counts.clone();
        for i in (0..bits.len()).filter(|i| i & half != 0) {
            let (low, high) = (before[(i & !(half - 1)) - 1], before[i]);
            // No count exceeds the number of bits it covers.
            let covered = (i & !(2 * half - 1)..=i).count();
            let sum = (low + high).truncate(bits_for(covered as u64));
            counts[i] = m.wire(&format!("count_{half}_{i}"), sum);
        }
        half *= 2;
    }
    counts
}

/// The moves that a mask asks for.
pub(super) fn routes(m: &mut Module, mask: Array) -> Routes {
    let lanes = mask.count();
    let stages = stages(lanes);
    let selected = mask.elements();
    let counts = prefix_counts(m, &selected);
    let distance = m.grid("distance", uint(stages), stages + 1, lanes);
    let present = m.grid("present", bit(), stages + 1, lanes);
    let moves = m.grid("moves", bit(), stages, lanes);
    for lane in 0..lanes {
        // Unselected lanes below this one: all below, less the selected ones.
        let below = match lane.checked_sub(1) {
            None => uint(stages).lit(0),
            Some(under) => {
                let all = uint(stages).lit(lane);
                all.wrapping_sub(counts[under as usize])
            }
        };
        m.connect(distance.at((0, lane)), below);
    }
    m.for_each("selected", lanes, |m, lane| m.connect(present.at((0, lane)), mask.at(lane)));
    for s in 0..stages {
        let step = 1 << s;
        m.for_each(&format!("moves_{s}"), lanes, |m, lane| {
            m.connect(moves.at((s, lane)), present.at((s, lane)) & distance.at((s, lane)).bit(s));
        });
        m.for_each(&format!("routes_{s}"), lanes - step, |m, lane| {
            let (comes, leaves) = (moves.at((s, lane + step)), moves.at((s, lane)));
            m.connect(present.at((s + 1, lane)), comes | (present.at((s, lane)) & !leaves));
            let travelling = mux(comes, distance.at((s, lane + step)), distance.at((s, lane)));
            m.connect(distance.at((s + 1, lane)), travelling);
        });
        m.for_each(&format!("top_routes_{s}"), step, |m, lane| {
            let lane = lane + (lanes - step);
            m.connect(present.at((s + 1, lane)), present.at((s, lane)) & !moves.at((s, lane)));
            m.connect(distance.at((s + 1, lane)), distance.at((s, lane)));
        });
    }
    for lane in 0..lanes {
        m.unused(distance.at((stages, lane)));
    }
    let filled: Vec<_> = (0..lanes).rev().map(|lane| present.at((stages, lane))).collect();
    let filled = m.wire("filled", crate::lang::cat(&filled));
    Routes { moves, filled, count: counts[lanes as usize - 1] }
}

/// Elements moved to lane 0 along `routes`; zero where none arrives.
pub(super) fn compact(m: &mut Module, routes: &Routes, data: Array) -> Array {
    let lanes = data.count();
    let stages = stages(lanes);
    let ty = data.at(0).ty();
    let moved = m.grid("moved", ty, stages + 1, lanes);
    let out = m.nets("compacted", ty, lanes);
    m.for_each("enter", lanes, |m, lane| m.connect(moved.at((0, lane)), data.at(lane)));
    for s in 0..stages {
        let step = 1 << s;
        m.for_each(&format!("move_{s}"), lanes - step, |m, lane| {
            let comes = routes.moves.at((s, lane + step));
            m.connect(moved.at((s + 1, lane)), mux(comes, moved.at((s, lane + step)), moved.at((s, lane))));
        });
        m.for_each(&format!("stay_{s}"), step, |m, lane| {
            let lane = lane + (lanes - step);
            m.connect(moved.at((s + 1, lane)), moved.at((s, lane)));
        });
    }
    for lane in 0..lanes {
        let here = routes.filled.bit(lane).repeat(ty.width);
        m.connect(out.at(lane), moved.at((stages, lane)) & here);
    }
    out
}

/// Elements moved from lane 0 on to the lanes of `mask`, along `routes` backwards; zero elsewhere.
pub(super) fn expand(m: &mut Module, routes: &Routes, mask: Array, data: Array) -> Array {
    let lanes = data.count();
    let stages = stages(lanes);
    let ty = data.at(0).ty();
    let moved = m.grid("returned", ty, stages + 1, lanes);
    let out = m.nets("expanded", ty, lanes);
    m.for_each("enter_back", lanes, |m, lane| m.connect(moved.at((stages, lane)), data.at(lane)));
    for s in (0..stages).rev() {
        let step = 1 << s;
        m.for_each(&format!("back_{s}"), lanes - step, |m, lane| {
            let leaves = routes.moves.at((s, lane + step));
            let (from, same) = (moved.at((s + 1, lane)), moved.at((s + 1, lane + step)));
            m.connect(moved.at((s, lane + step)), mux(leaves, from, same));
        });
        m.for_each(&format!("stay_back_{s}"), step, |m, lane| m.connect(moved.at((s, lane)), moved.at((s + 1, lane))));
    }
    m.for_each("masked", lanes, |m, lane| {
        m.connect(out.at(lane), moved.at((0, lane)) & mask.at(lane).repeat(ty.width));
    });
    out
}

old_parameters!(Compactor);

impl Block for Compactor {
    type Ports = CompactorPorts;
    const ABOUT: About = About {
        name: "compactor",
        summary: "moves the lanes of a mask together, in order",
        contract: "data_o[k] is data_i of the k-th lane whose mask_i is high, for k below count_o, and 0 from there on;\n\
            count_o is the number of such lanes. Combinational, depth O(log lanes).",
        reference: "Titanus, section 4.3 (non-zero data extraction)",
    };

    fn module_name(&self) -> String {
        format!("compactor_l{}_w{}", self.lanes, self.width)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 2..=256)?;
        ensure_param("width", self.width, 1..=64)
    }

    fn build(&self, m: &mut Module, io: &CompactorPorts) {
        let routes = routes(m, io.mask_i);
        let out = compact(m, &routes, io.data_i);
        m.connect_each("out", io.data_o, out);
        m.connect(io.count_o, routes.count);
        m.formal(|m| {
            // The way back gives the selected lanes again: nothing is lost, doubled or out of order.
            let back = expand(m, &routes, io.mask_i, out);
            for lane in 0..self.lanes {
                let kept = io.data_i.at(lane) & io.mask_i.at(lane).repeat(self.width);
                m.assert_always(&format!("expands_to_input_{lane}"), back.at(lane).eq(kept));
            }
            for lane in 1..self.lanes {
                let gap = io.data_o.at(lane).any() & routes.count.le(lane);
                m.assert_always(&format!("nothing_above_count_{lane}"), !gap);
            }
            m.cover("upper_half", routes.count.eq(self.lanes / 2) & !io.mask_i.at(0));
        });
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("cycles".into(), 0), ("network_stages".into(), u64::from(stages(self.lanes)))]
    }
}

impl Default for Compactor {
    fn default() -> Self {
        Self { lanes: 32, width: 8 }
    }
}

/// Parameters of both directions.
pub(super) const OLD_PARAMETERS: &[OldParameter] = &[
    OldParameter { name: "lanes", allowed: "2 to 256", meaning: "number of lanes" },
    OldParameter { name: "width", allowed: "1 to 64", meaning: "width of an element, bits" },
];

impl CatalogBlock for Compactor {
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
