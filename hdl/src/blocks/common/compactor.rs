//! Stable compaction: the lanes that a mask selects move together at lane 0, in order.
//!
//! Each selected element moves down by the number of unselected lanes below it. A prefix network counts these lanes in
//! O(log lanes). Then stage s moves by 2^s the elements whose count has bit s, lowest bit first. Two elements never
//! meet: the distances of two elements differ by at most the gap between them. The moves of all stages follow from the
//! mask alone, so [`super::Expander`] runs the same moves backwards.

use crate::lang::{
    About, Array, Block, CatalogBlock, InArray, Index, Module, Out, OutArray, Proof, Signal, Timing, bit, bits_for,
    index_width, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct Compactor {
        /// Number of lanes.
        lanes: u32 = 32, in 2..=256, tag "l";
        /// Width of an element in bits.
        width: u32 = 8, in 1..=64, tag "w";
    }
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

/// How the elements of a mask move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Routes {
    /// (stage, lane before the stage): an element moves down.
    moves: Array,
    /// (stages, lane): after the last stage, an element is here.
    present: Array,
    /// Number of ones in the mask.
    pub(super) count: Signal,
}

/// Stages of the network.
pub(super) fn stages(lanes: u32) -> u32 {
    index_width(u64::from(lanes))
}

/// Numbers of zeros in `mask[0..=i]` at (stages, i), for all i: a Sklansky prefix network.
fn gaps(m: &mut Module, mask: Array) -> Array {
    let lanes = mask.count();
    let width = bits_for(u64::from(lanes));
    let gaps = m.grid("gaps", uint(width), stages(lanes) + 1, lanes);
    m.for_each("gap", lanes, |m, lane| m.connect(gaps.at((0, lane)), (!mask.at(lane)).extend(width)));
    for level in 0..stages(lanes) {
        // To the counts in the second half of a block the count of the first half is added.
        let half = 1 << level;
        let block = |m: &mut Module, name: &str, start: Index, lanes: u32| {
            m.for_each(&format!("{name}_first_{level}"), lanes.min(half), |m, i| {
                m.connect(gaps.at((level + 1, start + i)), gaps.at((level, start + i)));
            });
            m.for_each(&format!("{name}_second_{level}"), lanes.saturating_sub(half), |m, i| {
                let first = gaps.at((level, start + (half - 1)));
                let here = start + half + i;
                m.connect(gaps.at((level + 1, here)), first.wrapping_add(gaps.at((level, here))));
            });
        };
        let (whole, rest) = (lanes / (2 * half), lanes % (2 * half));
        m.for_each(&format!("blocks_{level}"), whole, |m, b| block(m, "block", b * (2 * half), 2 * half));
        block(m, "rest", (lanes - rest).into(), rest);
    }
    gaps
}

/// The moves that a mask needs.
pub(super) fn routes(m: &mut Module, mask: Array) -> Routes {
    let lanes = mask.count();
    let stages = stages(lanes);
    m.comment("Lanes that the mask leaves out, counted up to each lane.");
    let gaps = gaps(m, mask);
    let distance = m.grid("distance", uint(stages), stages, lanes);
    let present = m.grid("present", bit(), stages + 1, lanes);
    let moves = m.grid("moves", bit(), stages, lanes);
    m.comment("An element moves down by the number of gaps below it, one bit of that number a stage.");
    m.connect(distance.at((0, 0)), 0);
    m.for_each("distances", lanes - 1, |m, under| {
        m.connect(distance.at((0, under + 1)), gaps.at((stages, under)).truncate(stages));
    });
    m.for_each("selected", lanes, |m, lane| m.connect(present.at((0, lane)), mask.at(lane)));
    for s in 0..stages {
        let step = 1 << s;
        let travels_on = s + 1 < stages;
        m.for_each(&format!("moves_{s}"), lanes, |m, lane| {
            m.connect(moves.at((s, lane)), present.at((s, lane)) & distance.at((s, lane)).bit(s));
        });
        m.for_each(&format!("routes_{s}"), lanes - step, |m, lane| {
            let (comes, leaves) = (moves.at((s, lane + step)), moves.at((s, lane)));
            m.connect(present.at((s + 1, lane)), comes | (present.at((s, lane)) & !leaves));
            if travels_on {
                let travelling = mux(comes, distance.at((s, lane + step)), distance.at((s, lane)));
                m.connect(distance.at((s + 1, lane)), travelling);
            }
        });
        m.for_each(&format!("top_routes_{s}"), step, |m, lane| {
            let lane = lane + (lanes - step);
            m.connect(present.at((s + 1, lane)), present.at((s, lane)) & !moves.at((s, lane)));
            if travels_on {
                m.connect(distance.at((s + 1, lane)), distance.at((s, lane)));
            }
        });
    }
    let gaps = gaps.at((stages, lanes - 1));
    let count = m.wire("count", gaps.ty().lit(lanes).wrapping_sub(gaps));
    Routes { moves, present, count }
}

/// Elements moved to lane 0 along `routes`; zero where none arrives.
pub(super) fn compact(m: &mut Module, routes: &Routes, data: Array) -> Array {
    let lanes = data.count();
    let stages = stages(lanes);
    let ty = data.ty().element;
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
    m.for_each("filled", lanes, |m, lane| {
        let here = routes.present.at((stages, lane)).repeat(ty.width);
        m.connect(out.at(lane), moved.at((stages, lane)) & here);
    });
    out
}

/// Elements moved from lane 0 on, along `routes` backwards; zero outside of `mask`, if there is one.
pub(super) fn expand(m: &mut Module, routes: &Routes, mask: Option<Array>, data: Array) -> Array {
    let lanes = data.count();
    let stages = stages(lanes);
    let ty = data.ty().element;
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
        let here = moved.at((0, lane));
        m.connect(out.at(lane), mask.map_or(here, |mask| here & mask.at(lane).repeat(ty.width)));
    });
    out
}

/// For a specification: how many lanes of the mask are below each lane, and how many there are, counted one by one.
pub(super) fn ranks(m: &mut Module, mask: Array) -> (Array, Signal) {
    let lanes = mask.count();
    let ty = uint(bits_for(u64::from(lanes)));
    let rank = m.nets("rank", ty, lanes + 1);
    m.connect(rank.at(0), 0);
    m.for_each("rank", lanes, |m, lane| {
        m.connect(rank.at(lane + 1), mux(mask.at(lane), rank.at(lane).wrapping_add(1), rank.at(lane)));
    });
    (rank, rank.at(lanes))
}

impl Block for Compactor {
    type Ports = CompactorPorts;
    const ABOUT: About = About {
        name: "compactor",
        summary: "moves the lanes of a mask together, in order",
        contract: "data_o[k] is data_i of the k-th lane whose mask_i is high, for k below count_o, and 0 for other k; \
            count_o is the number of such lanes. Combinational, depth O(log lanes).",
        reference: "Titanus, section 4.3 (non-zero data extraction)",
    };

    fn build(&self, m: &mut Module, io: &CompactorPorts) {
        let routes = routes(m, io.mask_i);
        let out = compact(m, &routes, io.data_i);
        m.connect_each("out", io.data_o, out);
        m.connect(io.count_o, routes.count);
        m.formal(|m| {
            let (rank, total) = ranks(m, io.mask_i);
            m.for_each("kept", self.lanes, |m, lane| {
                let there = io.data_o.at(rank.at(lane));
                m.assert_always("kept_in_order", !io.mask_i.at(lane) | there.eq(io.data_i.at(lane)));
            });
            m.for_each("above", self.lanes, |m, lane| {
                let above = total.le(lane.value(total.width()));
                m.assert_always("nothing_above_count", !(io.data_o.at(lane).any() & above));
            });
            m.assert_always("counts_lanes", io.count_o.eq(total));
            m.cover("upper_half", io.count_o.eq(self.lanes / 2) & !io.mask_i.at(0));
        });
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(0)
    }
}

impl CatalogBlock for Compactor {
    fn configurations() -> Vec<Self> {
        [(2, 1), (5, 3), (33, 2)].map(|(lanes, width)| Self { lanes, width }).into()
    }

    fn proofs() -> Vec<Proof<Self>> {
        [(2, 3), (5, 2), (8, 2)]
            .map(|(lanes, width)| Proof { block: Self { lanes, width }, depth: 1, cover_depth: 1, induction: true })
            .into()
    }
}
