//! Orizuru: the k largest and the k smallest of N values, popped one by one.
//!
//! A tree of units of `radix` inputs (N = 4096, radix 16: 256 + 16 + 1 = 273 units). Values enter `lanes` at a time as
//! ordered keys; the leaf units initialise while later values still arrive. Then each side pops on its own: index and
//! value are there as soon as the tree is ready, and the maintenance afterwards climbs one level group a cycle.

use serde::{Deserialize, Serialize};

use super::orizuru_tree::{Comparators, NodeState, Side};
use super::orizuru_unit::{OrizuruUnit, orizuru_options};
use super::orizuru_upper::OrizuruUpper;
use crate::blocks::common::number_format::{NanPolicy, NumberFormat};
use crate::lang::{
    About, Block, In, Module, OldInStream, OldOutStream, OldStreamType, Out, OutArray, OutOption, ParamError, bit,
    bits_for, ensure_param, ensure_power_of_two, index_width, mux, old_parameters, ports, stream, uint,
};
use structure::{Load, Request};

mod catalog;
mod properties;
mod structure;
mod tier;

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orizuru {
    /// Values of a vector.
    pub n: u32,
    /// Largest number of maxima that can be asked for.
    pub k_max: u32,
    /// Largest number of minima that can be asked for.
    pub k_min: u32,
    /// Format of the values.
    pub format: NumberFormat,
    /// What a NaN does.
    pub nan: NanPolicy,
    /// Inputs of a unit.
    pub radix: u32,
    /// Values that enter in one beat.
    pub lanes: u32,
    /// One comparator a node or a level.
    pub comparators: Comparators,
    /// Tree levels settled in one cycle.
    pub levels_per_cycle: u32,
    /// What a node remembers.
    pub node_state: NodeState,
    /// Adds `comparisons_o`.
    pub count_comparisons: bool,
}

impl Orizuru {
    /// A value as it leaves.
    fn pop_type(&self) -> OldStreamType {
        stream().field("index", uint(self.index_width())).field("value", self.format.ty()).field("last", bit())
    }

    /// Width of an index into the vector.
    #[must_use]
    pub fn index_width(&self) -> u32 {
        index_width(u64::from(self.n))
    }

    /// Beats that a vector takes.
    #[must_use]
    pub fn beats(&self) -> u32 {
        self.n.div_ceil(self.lanes)
    }

    /// Radix of the leaf units: no larger than the vector needs.
    fn leaf_radix(&self) -> u32 {
        self.radix.min(self.n.next_power_of_two().max(2))
    }

    fn unit_lanes(&self) -> u32 {
        self.lanes.min(self.leaf_radix())
    }

    fn unit(&self) -> OrizuruUnit {
        let radix = self.leaf_radix();
        OrizuruUnit {
            radix,
            lanes: self.unit_lanes(),
            key_width: self.format.width(),
            comparators: self.comparators,
            levels_per_cycle: self.levels_per_cycle.min(radix.ilog2()),
            node_state: self.node_state,
            count_comparisons: self.count_comparisons,
        }
    }

    /// Units of each tier, leaf units first: (radix, units).
    #[must_use]
    pub fn tiers(&self) -> Vec<(u32, u32)> {
        let mut tiers = vec![(self.leaf_radix(), self.n.div_ceil(self.leaf_radix()))];
        while let Some(&(_, below)) = tiers.last().filter(|t| t.1 > 1) {
            let radix = self.radix.min(below.next_power_of_two());
            tiers.push((radix, below.div_ceil(radix)));
        }
        tiers
    }

    fn upper(&self, tier: usize) -> OrizuruUpper {
        let tiers = self.tiers();
        OrizuruUpper {
            radix: tiers[tier].0,
            key_width: self.format.width(),
            index_width: tiers[..tier].iter().map(|t| t.0.ilog2()).sum(),
            comparators: self.comparators,
            levels_per_cycle: self.levels_per_cycle,
            node_state: self.node_state,
            count_comparisons: self.count_comparisons,
        }
    }

    /// Cycles from the last beat to the first pop.
    #[must_use]
    pub fn init_cycles(&self) -> u32 {
        let upper: u32 = (1..self.tiers().len()).map(|t| self.upper(t).tree(Side::Max).init_cycles()).sum();
        // One more to leave the build state.
        self.unit().init_cycles() + upper + 1
    }

    /// Cycles from one pop to the next of the same side.
    #[must_use]
    pub fn pop_cycles(&self) -> u32 {
        let upper: u32 = (1..self.tiers().len()).map(|t| self.upper(t).tree(Side::Max).update_cycles()).sum();
        self.unit().pop_cycles() + upper
    }
}

ports! {
    /// Ports of [`Orizuru`].
    pub struct OrizuruPorts(p: &Orizuru) {
        /// Values in order, `lanes` a beat; the lanes past the end of the vector in its last beat are ignored.
        load: OldInStream = stream().array("data", p.format.ty().array(p.lanes)),
        /// Maxima wanted; taken with the first beat.
        k_max_i: In = uint(bits_for(u64::from(p.k_max))),
        /// Minima wanted; taken with the first beat.
        k_min_i: In = uint(bits_for(u64::from(p.k_min))),
        /// The maxima, largest first.
        max: OldOutStream = p.pop_type(),
        /// The minima, smallest first.
        min: OldOutStream = p.pop_type(),
        /// Everything asked for has been delivered; low from the first beat of the next vector.
        done_o: Out = bit(),
        /// Values popped so far from either side; complete while `done_o` is high.
        outlier_o: OutArray = bit().array(p.n),
        /// Comparisons since the first beat of this vector.
        comparisons_o: OutOption = uint(32).when(p.count_comparisons),
    }
}

impl Default for Orizuru {
    fn default() -> Self {
        Self {
            n: 4096,
            k_max: 41,
            k_min: 41,
            format: NumberFormat::FP16,
            nan: NanPolicy::TotalOrder,
            radix: 16,
            lanes: 16,
            comparators: Comparators::Parallel,
            levels_per_cycle: 4,
            node_state: NodeState::Value,
            count_comparisons: false,
        }
    }
}

old_parameters!(Orizuru);

impl Block for Orizuru {
    type Ports = OrizuruPorts;
    const ABOUT: About = About {
        name: "orizuru",
        summary: "the k largest and k smallest of N values, in order",
        contract: "after N values have entered, max and min deliver the k_max_i largest and k_min_i smallest values, each with\n\
            its index, best first, the lower index first among equal values; last marks the final one.\n\
            When fewer values take part than were asked for, the stream ends early; with none it delivers nothing.\n\
            done_o rises when both sides have delivered; outlier_o then holds one bit per value.",
        reference: "KLLM, section IV-C and table I",
    };

    fn module_name(&self) -> String {
        let nan = if self.nan == NanPolicy::NeverSelected { "_nonan" } else { "" };
        let options = orizuru_options(self.comparators, self.levels_per_cycle, self.node_state, self.count_comparisons);
        format!(
            "orizuru_n{}_k{}_{}_{}{nan}_r{}_p{}{options}",
            self.n, self.k_max, self.k_min, self.format, self.radix, self.lanes
        )
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("n", self.n, 1..=65_536)?;
        ensure_param("k_max", self.k_max, 1..=self.n)?;
        ensure_param("k_min", self.k_min, 1..=self.n)?;
        ensure_power_of_two("radix", self.radix, 2..=4096)?;
        ensure_power_of_two("lanes", self.lanes, 1..=self.leaf_radix())?;
        ensure_param("levels_per_cycle", self.levels_per_cycle, 1..=self.radix.ilog2())?;
        self.unit().old_check()
    }

    fn build(&self, m: &mut Module, io: &OrizuruPorts) {
        let fsm = m.fsm("state", &["Load", "Build", "Serve"]);
        let loading = m.wire("loading", fsm.is("Load"));
        let serving = m.wire("serving", fsm.is("Serve"));
        m.connect(io.load.ready, loading);
        let fire = m.wire("load_fire", io.load.valid & loading);
        let beat = m.reg_init("beat_q", uint(index_width(u64::from(self.beats()))), 0);
        let last_beat = m.wire("last_beat", fire & beat.q.eq(self.beats() - 1));
        let first_beat = m.wire("first_beat", fire & beat.q.eq(0));
        beat.next_when(fire, mux(last_beat, beat.q.ty().lit(0), beat.q.wrapping_add(1)));

        let (keys, present) = self.keys(m, io, beat.q);
        let load = Load { fire, first: first_beat, last: last_beat, beat: beat.q, keys, present };
        let root = self.tree(m, io, &load);

        let taking_part = self.taking_part(m, &load);
        let sides = [(Side::Max, root.max, &io.max, io.k_max_i), (Side::Min, root.min, &io.min, io.k_min_i)];
        let idle = sides.map(|(side, winner, port, wanted)| {
            let request = Request { wanted, taking_part, serving, init_done: root.init_done };
            self.serve(m, side, &winner, port, &load, request)
        });
        let finished = m.wire("finished", idle[0] & idle[1]);
        fsm.goto("Load", last_beat, "Build");
        fsm.goto("Build", root.init_done, "Serve");
        fsm.goto("Serve", finished, "Load");
        let done = m.reg_init("done_q", bit(), 0);
        done.next((done.q | (serving & finished)) & !fire);
        m.connect(io.done_o, done.q);
        if let (Some(port), Some(now)) = (io.comparisons_o, root.compared) {
            let total = m.reg_init("comparisons_q", uint(32), 0);
            total.next(mux(first_beat, uint(32).lit(0), total.q.wrapping_add(now)));
            m.connect(port, total.q);
        }
        // A shadow of the whole vector is for proofs, and those are for small sizes.
        if self.n <= 64 {
            self.properties(m, io, &load);
        }
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![
            ("load_beats".into(), u64::from(self.beats())),
            ("init_cycles".into(), u64::from(self.init_cycles())),
            ("pop_cycles".into(), u64::from(self.pop_cycles())),
        ]
    }
}
