//! Orizuru: the k largest and the k smallest of N values, popped one by one.
//!
//! A tree of units of `radix` inputs (N = 4096, radix 16: 256 + 16 + 1 = 273 units). Values enter `lanes` at a time as
//! ordered keys; the leaf units initialise while later values still arrive. Then each side pops on its own: index and
//! value are there as soon as the tree is ready, and the maintenance afterwards climbs one level group a cycle.

use serde::{Deserialize, Serialize};

use super::orizuru_tree::{Comparators, NodeState, Side};
use super::orizuru_unit::{OrizuruUnit, OrizuruUnitPorts, orizuru_options};
use super::orizuru_upper::OrizuruUpper;
use super::winner::Winner;
use crate::blocks::common::number_format::{NanPolicy, NumberFormat, count_ones, minimum};
use crate::lang::{
    About, Array, Block, In, InStream, Module, Out, OutArray, OutOption, OutStream, ParamError, Signal, Stream,
    StreamType, Type, bit, bits_for, ensure_param, ensure_power_of_two, index_width, mux, ports, reduce, stream, uint,
};
use tier::{Tier, TierSide};

mod catalog;
mod properties;
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
    fn pop_type(&self) -> StreamType {
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
        load: InStream = stream().array("data", p.format.ty().array(p.lanes)),
        /// Maxima wanted; taken with the first beat.
        k_max_i: In = uint(bits_for(u64::from(p.k_max))),
        /// Minima wanted; taken with the first beat.
        k_min_i: In = uint(bits_for(u64::from(p.k_min))),
        /// The maxima, largest first.
        max: OutStream = p.pop_type(),
        /// The minima, smallest first.
        min: OutStream = p.pop_type(),
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
            format: NumberFormat::Fp16,
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
        source: file!(),
    };

    fn module_name(&self) -> String {
        let nan = if self.nan == NanPolicy::NeverSelected { "_nonan" } else { "" };
        let options = orizuru_options(self.comparators, self.levels_per_cycle, self.node_state, self.count_comparisons);
        format!(
            "orizuru_n{}_k{}_{}_{}{nan}_r{}_p{}{options}",
            self.n, self.k_max, self.k_min, self.format, self.radix, self.lanes
        )
    }

    fn check(&self) -> Result<(), ParamError> {
        ensure_param("n", self.n, 1..=65_536)?;
        ensure_param("k_max", self.k_max, 1..=self.n)?;
        ensure_param("k_min", self.k_min, 1..=self.n)?;
        ensure_power_of_two("radix", self.radix, 2..=4096)?;
        ensure_power_of_two("lanes", self.lanes, 1..=self.leaf_radix())?;
        ensure_param("levels_per_cycle", self.levels_per_cycle, 1..=self.radix.ilog2())?;
        self.unit().check()
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

    fn latency(&self) -> Vec<(String, u64)> {
        vec![
            ("load_beats".into(), u64::from(self.beats())),
            ("init_cycles".into(), u64::from(self.init_cycles())),
            ("pop_cycles".into(), u64::from(self.pop_cycles())),
        ]
    }
}

/// One beat of values on its way to the leaves.
#[derive(Clone, Copy)]
struct Load {
    fire: Signal,
    first: Signal,
    last: Signal,
    beat: Signal,
    keys: Array,
    present: Array,
}

/// The winners at the root of the tree.
#[derive(Clone, Copy)]
struct Root {
    max: Winner,
    min: Winner,
    init_done: Signal,
    compared: Option<Signal>,
}

/// What one side is asked to deliver.
#[derive(Clone, Copy)]
struct Request {
    wanted: Signal,
    taking_part: Signal,
    serving: Signal,
    init_done: Signal,
}

impl Orizuru {
    /// Ordered keys of a beat, and which lanes take part.
    fn keys(&self, m: &mut Module, io: &OrizuruPorts, beat: Signal) -> (Array, Array) {
        let keys = m.nets("load_key", uint(self.format.width()), self.lanes);
        let present = m.nets("load_present", bit(), self.lanes);
        let data = io.load.array("data");
        // Lanes past the end of the vector, in the last beat.
        let filled = self.n - (self.beats() - 1) * self.lanes;
        let last = beat.eq(self.beats() - 1);
        for (name, from, to, inside) in
            [("full_lanes", 0, filled, bit().lit(1)), ("padded_lanes", filled, self.lanes, !last)]
        {
            m.for_each(name, to - from, |m, i| {
                let lane = i + from;
                let value = data.at(lane);
                m.connect(keys.at(lane), self.format.to_key(value));
                let ignored = match self.nan {
                    NanPolicy::TotalOrder => bit().lit(0),
                    NanPolicy::NeverSelected => self.format.is_nan(value),
                };
                m.connect(present.at(lane), inside & !ignored);
            });
        }
        (keys, present)
    }

    /// How many values of the vector take part.
    fn taking_part(&self, m: &mut Module, load: &Load) -> Signal {
        let width = bits_for(u64::from(self.n));
        if self.nan == NanPolicy::TotalOrder {
            return uint(width).lit(self.n);
        }
        let now = m.wire("present_count", count_ones(&load.present.elements()));
        let count = m.reg("taking_part_q", uint(width));
        let sum = mux(load.first, uint(width).lit(0), count.q) + now;
        count.next_when(load.fire, sum.truncate(width));
        count.q
    }

    /// All units, tier by tier.
    fn tree(&self, m: &mut Module, io: &OrizuruPorts, load: &Load) -> Root {
        let tiers = self.tiers();
        let mut compared = Vec::new();
        let mut below = self.leaf_tier(m, io, load, tiers.get(1).map_or(1, |t| t.0 * t.1), &mut compared);
        for tier in 1..tiers.len() {
            below = self.upper_tier(m, tier, &below, tiers.get(tier + 1).map_or(1, |t| t.0 * t.1), &mut compared);
        }
        let side = |s: &TierSide| Winner {
            pop: s.pop.at(0),
            done: s.done.at(0),
            key: s.key.at(0),
            available: s.available.at(0),
            index: s.index.at(0),
        };
        // The counts of values taking part tell when a side is empty.
        below.sides.iter().for_each(|s| m.unused(s.available.at(0)));
        Root {
            max: side(&below.sides[0]),
            min: side(&below.sides[1]),
            init_done: below.initialised.at(0),
            compared: reduce(&compared, |a, b| a + b).map(|sum| m.wire("compared_now", sum)),
        }
    }

    fn leaf_tier(
        &self,
        m: &mut Module,
        io: &OrizuruPorts,
        load: &Load,
        places: u32,
        compared: &mut Vec<Signal>,
    ) -> Tier {
        let (radix, units) = self.tiers()[0];
        let tier = self.tier(m, 0, units, places);
        let unit = self.unit();
        let groups = radix / self.lanes;
        let counts = self.count_comparisons.then(|| m.nets("compared_t0", uint(bits_for(4 * u64::from(radix))), units));
        let group_width = groups.ilog2();
        // Beats count lanes; the upper bits of the count name the unit, the lower ones its group of leaves.
        let beat = load.beat.extend(load.beat.width().max(group_width + 1));
        let unit_beat = (units > 1).then(|| m.wire("unit_beat", beat.shr(group_width)));
        let unit_full = if groups == 1 { bit().lit(1) } else { beat.slice(0..group_width).eq(groups - 1) };
        let unit_end = m.wire("unit_end", load.last | (load.fire & unit_full));
        // The whole vector's bits, padding included.
        let outliers = m.nets("outlier", bit(), units * radix);
        m.for_each("leaf_units", units, |m, u| {
            let selected = unit_beat.map_or_else(|| bit().lit(1), |beat| beat.eq(u.value(beat.width())));
            let selected = m.wire("selected", selected);
            let leaf: OrizuruUnitPorts = m.instance("u_unit", unit.clone());
            m.connect(leaf.clear_i, load.first);
            m.for_each("load_groups", groups, |m, g| {
                let here = if groups == 1 { bit().lit(1) } else { beat.slice(0..group_width).eq(g.value(group_width)) };
                m.connect(leaf.load_i.at(g), load.fire & selected & here);
            });
            m.connect_each("unit_keys", leaf.key_i, load.keys);
            m.connect_each("unit_present", leaf.present_i, load.present);
            m.connect(leaf.start_i, selected & unit_end);
            tier.connect(m, u, &leaf.max, &leaf.min, leaf.init_done_o);
            m.for_each("unit_outliers", radix, |m, i| m.connect(outliers.at(u * radix + i), leaf.outlier_o.at(i)));
            if let (Some(counts), Some(count)) = (counts, leaf.compared_o) {
                m.connect(counts.at(u), count);
            }
        });
        m.for_each("outliers", self.n, |m, i| m.connect(io.outlier_o.at(i), outliers.at(i)));
        compared.extend(counts.iter().flat_map(|c| c.elements()));
        tier
    }

    fn upper_tier(&self, m: &mut Module, tier: usize, below: &Tier, places: u32, compared: &mut Vec<Signal>) -> Tier {
        let (radix, units) = self.tiers()[tier];
        let block = self.upper(tier);
        let this = self.tier(m, tier, units, places);
        let counts = self
            .count_comparisons
            .then(|| m.nets(&format!("compared_t{tier}"), uint(bits_for(4 * u64::from(radix))), units));
        m.for_each(&format!("upper_units_{tier}"), units, |m, u| {
            let upper = m.instance(&format!("u_upper_{tier}"), block.clone());
            m.connect(upper.init_i, below.initialised.at(u * radix + (radix - 1)));
            for (side, port) in below.sides.iter().zip([upper.max_below, upper.min_below]) {
                m.for_each(&format!("below_{}_{tier}", side.name), radix, |m, i| {
                    let place = u * radix + i;
                    m.connect(port.done.at(i), side.done.at(place));
                    m.connect(port.key.at(i), side.key.at(place));
                    m.connect(port.available.at(i), side.available.at(place));
                    m.connect(port.index.at(i), side.index.at(place));
                    m.connect(side.pop.at(place), port.pop.at(i));
                });
            }
            this.connect(m, u, &upper.max, &upper.min, upper.init_done_o);
            if let (Some(counts), Some(count)) = (counts, upper.compared_o) {
                m.connect(counts.at(u), count);
            }
        });
        compared.extend(counts.iter().flat_map(|c| c.elements()));
        this
    }

    /// Nets between a tier and the one above, which has `places` inputs; those without a unit are tied off.
    fn tier(&self, m: &mut Module, tier: usize, units: u32, places: u32) -> Tier {
        let index_width = self.tiers()[..=tier].iter().map(|t| t.0.ilog2()).sum();
        let sides = [Side::Max, Side::Min].map(|side| {
            let mut net = |what: &str, ty: Type| m.nets(&format!("{}_{what}_t{tier}", side.name()), ty, places);
            TierSide {
                name: side.name(),
                pop: net("pop", bit()),
                done: net("done", bit()),
                key: net("key", uint(self.format.width())),
                available: net("available", bit()),
                index: net("index", uint(index_width)),
            }
        });
        let init_done = m.nets(&format!("init_done_t{tier}"), bit(), units);
        let initialised = m.nets(&format!("initialised_t{tier}"), bit(), places);
        m.for_each(&format!("initialised_units_t{tier}"), units, |m, i| m.connect(initialised.at(i), init_done.at(i)));
        m.for_each(&format!("padding_t{tier}"), places - units, |m, i| {
            let place = i + units;
            for side in &sides {
                m.connect(side.done.at(place), 0);
                m.connect(side.key.at(place), 0);
                m.connect(side.available.at(place), 0);
                m.connect(side.index.at(place), 0);
            }
            // The last unit there is tells when all are initialised.
            m.connect(initialised.at(place), init_done.at(units - 1));
        });
        Tier { sides, init_done, initialised }
    }

    /// Delivers the pops of one side; returns whether there are none left and the tree is at rest.
    fn serve(
        &self,
        m: &mut Module,
        side: Side,
        winner: &Winner,
        port: &Stream,
        load: &Load,
        request: Request,
    ) -> Signal {
        let name = side.name();
        let Request { wanted, taking_part, serving, init_done } = request;
        let fire = m.wire(&format!("{name}_fire"), port.fire());
        let settled = m.reg_init(&format!("{name}_settled_q"), bit(), 0);
        let ready = m.wire(&format!("{name}_ready"), settled.q | winner.done);
        settled.next((ready | init_done) & !fire);
        let width = wanted.width();
        let asked = m.reg(&format!("{name}_asked_q"), wanted.ty());
        asked.next_when(load.first, wanted);
        let left = m.reg_init(&format!("{name}_left_q"), wanted.ty(), 0);
        let widest = width.max(taking_part.width());
        let start = minimum(asked.q.extend(widest), taking_part.extend(widest)).truncate(width);
        left.next_when(init_done | fire, mux(init_done, start, left.q.wrapping_sub(1)));
        let more = m.wire(&format!("{name}_more"), left.q.any());
        m.connect(winner.pop, fire);
        m.connect(port.valid, serving & ready & more);
        m.connect(port.field("index"), winner.index.truncate(self.index_width()));
        m.connect(port.field("value"), self.format.from_key(winner.key));
        m.connect(port.field("last"), left.q.eq(1));
        ready & !more
    }
}
