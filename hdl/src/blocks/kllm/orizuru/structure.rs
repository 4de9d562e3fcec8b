//! The parts of Orizuru: keys of a beat, tiers of units, and the two sides that are served.

use super::tier::{Tier, TierSide};
use super::{Orizuru, OrizuruPorts, Pop};
use crate::blocks::common::arith::popcount;
use crate::blocks::common::number_format::{NanPolicy, minimum};
use crate::blocks::kllm::orizuru_tree::Side;
use crate::blocks::kllm::orizuru_unit::OrizuruUnitPorts;
use crate::blocks::kllm::winner::Winner;
use crate::lang::{Array, Module, Signal, Stream, Type, bit, bits_for, mux, reduce, uint};

/// One beat of values on its way to the leaves.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) fire: Signal,
    /// The leaves and all decisions in progress are void: with the first beat, or without any.
    pub(super) clear: Signal,
    pub(super) first: Signal,
    pub(super) last: Signal,
    pub(super) beat: Signal,
    pub(super) keys: Array,
    pub(super) present: Array,
}

/// The winners at the root of the tree.
#[derive(Clone, Copy)]
pub(super) struct Root {
    pub(super) max: Winner,
    pub(super) min: Winner,
    pub(super) init_done: Signal,
    pub(super) compared: Option<Signal>,
}

/// What one side is asked to deliver.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) wanted: Signal,
    pub(super) taking_part: Signal,
    pub(super) serving: Signal,
    pub(super) init_done: Signal,
}

impl Orizuru {
    /// Ordered keys of a beat, and which lanes take part.
    pub(super) fn keys(&self, m: &mut Module, io: &OrizuruPorts, beat: Signal) -> (Array, Array) {
        let keys = m.nets("load_key", uint(self.format.width()), self.lanes);
        let present = m.nets("load_present", bit(), self.lanes);
        let data = io.load.data.data;
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
                let there = io.load.present.map_or(inside, |masked| inside & masked.at(lane));
                m.connect(present.at(lane), there & !ignored);
            });
        }
        (keys, present)
    }

    /// How many values of the vector take part.
    pub(super) fn taking_part(&self, m: &mut Module, load: &Load) -> Signal {
        let width = bits_for(u64::from(self.n));
        if self.nan == NanPolicy::TotalOrder && !self.masked {
            return uint(width).lit(self.n);
        }
        let now = popcount::ones(m, "present_count", &load.present.elements());
        let count = m.reg("taking_part_q", uint(width));
        let sum = mux(load.first, uint(width).lit(0), count.q) + now;
        count.next_when(load.fire, sum.truncate(width));
        count.q
    }

    /// All units, tier by tier.
    pub(super) fn tree(&self, m: &mut Module, io: &OrizuruPorts, load: &Load) -> Root {
        let tiers = self.tiers();
        let mut compared = Vec::new();
        let mut below = self.leaf_tier(m, io, load, tiers.get(1).map_or(1, |t| t.0 * t.1), &mut compared);
        for tier in 1..tiers.len() {
            below = self.upper_tier(
                m,
                tier,
                load.clear,
                &below,
                tiers.get(tier + 1).map_or(1, |t| t.0 * t.1),
                &mut compared,
            );
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
        let counts =
            self.tree.count_comparisons.then(|| m.nets("compared_t0", uint(bits_for(4 * u64::from(radix))), units));
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
            m.connect(leaf.clear_i, load.clear);
            m.for_each("load_groups", groups, |m, g| {
                let here = if groups == 1 { bit().lit(1) } else { beat.slice(0..group_width).eq(g.value(group_width)) };
                m.connect(leaf.load_i.at(g), load.fire & selected & here);
            });
            m.connect_each("unit_keys", leaf.key_i, load.keys);
            m.connect_each("unit_present", leaf.present_i, load.present);
            // A vector that ends early leaves the units after its end empty: they start together with its last one.
            let starts = unit_beat.filter(|_| self.masked).map_or(selected, |beat| {
                // A bit more, so that the comparison is a constant for no unit.
                let width = beat.width() + 1;
                selected | (load.last & beat.extend(width).le(u.value(width)))
            });
            m.connect(leaf.start_i, starts & unit_end);
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

    fn upper_tier(
        &self,
        m: &mut Module,
        tier: usize,
        clear: Signal,
        below: &Tier,
        places: u32,
        compared: &mut Vec<Signal>,
    ) -> Tier {
        let (radix, units) = self.tiers()[tier];
        let block = self.upper(tier);
        let this = self.tier(m, tier, units, places);
        let counts = self
            .tree
            .count_comparisons
            .then(|| m.nets(&format!("compared_t{tier}"), uint(bits_for(4 * u64::from(radix))), units));
        m.for_each(&format!("upper_units_{tier}"), units, |m, u| {
            let upper = m.instance(&format!("u_upper_{tier}"), block.clone());
            m.connect(upper.clear_i, clear);
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

    /// Nets between a tier and the one above, which has `places` inputs. Inputs without a unit are tied off.
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
    pub(super) fn serve(
        &self,
        m: &mut Module,
        side: Side,
        winner: &Winner,
        port: &Stream<Pop>,
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
        m.connect(port.index, winner.index.truncate(self.index_width()));
        m.connect(port.value, self.format.from_key(winner.key));
        m.connect(port.last, left.q.eq(1));
        ready & !more
    }
}
