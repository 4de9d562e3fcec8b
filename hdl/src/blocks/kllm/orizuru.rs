//! Orizuru: the k largest and the k smallest of N values, popped one by one.
//!
//! A tree of units of `radix` inputs (N = 4096, radix 16: 256 + 16 + 1 = 273 units). Values enter `lanes` at a time as
//! ordered keys; the leaf units initialise while later values still arrive. Then each side pops on its own. Index and
//! value are there as soon as the tree is ready, and the maintenance afterwards climbs one level group a cycle.

use super::orizuru_tree::{Comparators, NodeState, Side, TreeStyle};
use super::orizuru_unit::OrizuruUnit;
use super::orizuru_upper::OrizuruUpper;
use crate::blocks::common::number_format::{NanPolicy, NumberFormat};
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, FieldArrayOption, FieldOption, In, InStream, Module, Out, OutArray,
    OutOption, OutStream, Proof, Timing, bit, bits_for, bundle, index_width, mux, parameters, ports, power_of_two,
    uint,
};
use structure::{Load, Request};

mod properties;
mod structure;
mod tier;

parameters! {
    /// Elaboration parameters.
    pub struct Orizuru {
        /// Values of a vector.
        n: u32 = 4096, in 1..=65_536, tag "n";
        /// Largest number of maxima that can be asked for.
        k_max: u32 = 41, in 1..=65_536, note "at most n", tag "k";
        /// Largest number of minima that can be asked for.
        k_min: u32 = 41, in 1..=65_536, note "at most n", tag "m";
        /// Format of the values.
        format: NumberFormat = NumberFormat::FP16, tag "";
        /// NaNs lie beyond the infinities of their sign, or are never picked.
        nan: NanPolicy = NanPolicy::TotalOrder;
        /// Inputs of a unit.
        radix: u32 = 16, in power_of_two(2..=4096), tag "r";
        /// Values that enter in one beat.
        lanes: u32 = 16, in power_of_two(1..=4096), note "at most radix and n rounded up to a power of two", tag "p";
        /// How the trees of its units are built.
        tree: TreeStyle = TreeStyle::default();
        /// Vectors may be shorter than n, or have holes. Each value comes with a bit that says whether it takes part,
        /// and the last beat is marked.
        masked: bool = false, named "when set";
    }
    rules = |p, rules| {
        rules.demand(p.k_max <= p.n, "k_max", p.k_max, format!("1 to n = {}", p.n));
        rules.demand(p.k_min <= p.n, "k_min", p.k_min, format!("1 to n = {}", p.n));
        rules.demand(p.lanes <= p.leaf_radix(), "lanes", p.lanes, format!("a power of two from 1 to {}", p.leaf_radix()));
        p.tree.fits(p.radix, rules);
    };
}

bundle! {
    /// Values on their way in.
    pub struct VectorBeat(p: Orizuru) {
        /// Values in order; lanes past the end of the vector, in its last beat, are ignored.
        data: FieldArray = p.format.ty().array(p.lanes),
        /// They take part; others are never popped.
        present: FieldArrayOption = p.masked.then(|| bit().array(p.lanes)),
        /// The vector ends here, though it may be shorter than n; without it a vector ends with its n-th value.
        last: FieldOption = bit().when(p.masked),
    }
}

bundle! {
    /// A value on its way out.
    pub struct Pop(p: Orizuru) {
        /// Its place in the vector.
        index: Field = uint(p.index_width()),
        /// The value.
        value: Field = p.format.ty(),
        /// The side delivers nothing after it.
        last: Field = bit(),
    }
}

impl Orizuru {
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
        OrizuruUnit { radix, lanes: self.unit_lanes(), key_width: self.format.width(), tree: self.tree.of_radix(radix) }
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
            tree: self.tree.of_radix(tiers[tier].0),
        }
    }

    /// Cycles from the last beat to the first pop.
    #[must_use]
    pub fn init_cycles(&self) -> u32 {
        let upper: u32 = (1..self.tiers().len()).map(|t| self.upper(t).of_side(Side::Max).init_cycles()).sum();
        // One more to leave the build state.
        self.unit().init_cycles() + upper + 1
    }

    /// Cycles from one pop to the next of the same side.
    #[must_use]
    pub fn pop_cycles(&self) -> u32 {
        let upper: u32 = (1..self.tiers().len()).map(|t| self.upper(t).of_side(Side::Max).update_cycles()).sum();
        self.unit().pop_cycles() + upper
    }
}

ports! {
    /// Ports of [`Orizuru`].
    pub struct OrizuruPorts(p: &Orizuru) {
        /// Drops the vector that is being loaded, built or served, at this edge: a beat taken with it too, while a pop
        /// taken with it is delivered. The next beat taken is the first of a vector.
        clear_i: In = bit(),
        /// Values are offered, `lanes` a beat, from the first of the vector to the last.
        load: InStream<VectorBeat> = p.clone(),
        /// Maxima wanted: sampled at the edge that takes the first beat of a vector, ignored at all others. If it
        /// exceeds the number of values, all are delivered.
        k_max_i: In = uint(bits_for(u64::from(p.k_max))),
        /// Minima wanted: as `k_max_i`.
        k_min_i: In = uint(bits_for(u64::from(p.k_min))),
        /// The next maximum is there, largest first. Falls without being taken at `clear_i` only.
        max: OutStream<Pop> = p.clone(),
        /// The next minimum is there, smallest first. Falls without being taken at `clear_i` only.
        min: OutStream<Pop> = p.clone(),
        /// Both sides have delivered everything asked for, and the trees are at rest: from then until the first beat of
        /// the next vector, or `clear_i`. Low after reset.
        done_o: Out = bit(),
        /// Per value: popped from either side. Complete while `done_o` is high; cleared by the first beat of a vector.
        outlier_o: OutArray = bit().array(p.n),
        /// Comparisons that all units made for this vector: starts from 0 at its first beat, complete while `done_o` is
        /// high.
        comparisons_o: OutOption = uint(32).when(p.tree.count_comparisons),
    }
}

impl Block for Orizuru {
    type Ports = OrizuruPorts;
    const ABOUT: About = About {
        name: "orizuru",
        summary: "the k largest and k smallest of N values, in order",
        contract: "After n values have entered (with masked, the values up to last), max delivers the k_max_i\n\
            largest and min the k_min_i smallest values. Each comes with its index, best first, the lower index\n\
            first among equal values; last marks the final one. A value does not take part if it comes without\n\
            present (masked), or is a NaN with nan = never_selected. If fewer values take part than were asked for,\n\
            the stream ends early; with none it delivers nothing. done_o rises when both sides have delivered;\n\
            outlier_o then holds one bit per value. A vector enters after the one before is done. clear_i or reset\n\
            drops a vector at any time; the next one may enter at once.",
        reference: "KLLM, section IV-C and table I",
    };

    fn build(&self, m: &mut Module, io: &OrizuruPorts) {
        let fsm = m.fsm("state", &["Load", "Build", "Serve"]);
        let loading = m.wire("loading", fsm.is("Load"));
        let serving = m.wire("serving", fsm.is("Serve"));
        m.connect(io.load.ready, loading);
        let fire = m.wire("load_fire", io.load.valid & loading & !io.clear_i);
        let beat = m.reg_init("beat_q", uint(index_width(u64::from(self.beats()))), 0);
        let whole = beat.q.eq(self.beats() - 1);
        let last_beat = m.wire("last_beat", fire & io.load.last.map_or(whole, |last| whole | last));
        let first_beat = m.wire("first_beat", fire & beat.q.eq(0));
        let restart = m.wire("restart", last_beat | io.clear_i);
        beat.next_when(fire | io.clear_i, mux(restart, beat.q.ty().lit(0), beat.q.wrapping_add(1)));

        let (keys, present) = self.keys(m, io, beat.q);
        let clear = m.wire("clear", first_beat | io.clear_i);
        let load = Load { fire, clear, first: first_beat, last: last_beat, beat: beat.q, keys, present };
        let root = self.tree(m, io, &load);

        let taking_part = self.taking_part(m, &load);
        let sides = [(Side::Max, root.max, &io.max, io.k_max_i), (Side::Min, root.min, &io.min, io.k_min_i)];
        let idle = sides.map(|(side, winner, port, wanted)| {
            let request = Request { wanted, taking_part, serving, init_done: root.init_done };
            self.serve(m, side, &winner, port, &load, request)
        });
        let finished = m.wire("finished", idle[0] & idle[1]);
        for state in ["Build", "Serve"] {
            fsm.goto(state, io.clear_i, "Load");
        }
        fsm.goto("Load", last_beat, "Build");
        fsm.goto("Build", root.init_done, "Serve");
        fsm.goto("Serve", finished, "Load");
        let done = m.reg_init("done_q", bit(), 0);
        done.next((done.q | (serving & finished)) & !fire & !io.clear_i);
        m.connect(io.done_o, done.q);
        if let (Some(port), Some(now)) = (io.comparisons_o, root.compared) {
            let total = m.reg_init("comparisons_q", uint(32), 0);
            total.next(mux(first_beat, uint(32).lit(0), total.q.wrapping_add(now)));
            m.connect(port, total.q);
        }
        // A shadow of the whole vector is for proofs, and proofs are for small sizes.
        if self.n <= 64 {
            self.properties(m, io, &load);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new()
            .beat(1u32)
            .phase("load", self.beats(), "beats of a vector of n values, one a cycle")
            .phase("init", self.init_cycles(), "from the last beat to the first pop")
            .phase("pop", self.pop_cycles(), "from one pop to the next of the same side")
    }
}

impl CatalogBlock for Orizuru {
    fn configurations() -> Vec<Self> {
        use Comparators::{Parallel, Shared};
        use NodeState::{Pointer, Value};
        let set = |n: u32, k: u32, format, radix: u32, lanes, (comparators, node_state, levels_per_cycle)| Self {
            n,
            k_max: k.min(n),
            k_min: k.min(n),
            format,
            nan: NanPolicy::TotalOrder,
            radix,
            lanes,
            tree: TreeStyle { comparators, levels_per_cycle, node_state, count_comparisons: true },
            masked: false,
        };
        let (fp16, bf16) = (NumberFormat::FP16, NumberFormat::BF16);
        let (int8, int16) = (NumberFormat::Int { bits: 8 }, NumberFormat::Int { bits: 16 });
        let uint = |bits| NumberFormat::Uint { bits };
        let mut list = vec![
            set(1, 1, uint(1), 2, 1, (Parallel, Value, 1)),
            set(2, 2, int8, 2, 2, (Parallel, Pointer, 1)),
            set(3, 3, int8, 2, 1, (Shared, Value, 1)),
            set(5, 5, uint(3), 4, 2, (Shared, Pointer, 1)),
            set(17, 9, fp16, 16, 16, (Parallel, Value, 4)),
            set(33, 4, bf16, 4, 4, (Parallel, Pointer, 1)),
            set(100, 100, int16, 8, 2, (Parallel, Value, 2)),
            set(96, 7, uint(12), 16, 8, (Shared, Value, 1)),
            set(64, 3, NumberFormat::FP32, 64, 64, (Parallel, Value, 3)),
            set(256, 13, fp16, 16, 16, (Shared, Pointer, 1)),
            // The fastest clock.
            set(64, 8, fp16, 16, 16, (Parallel, Value, 1)),
        ];
        let no_nan = |s: Self| Self { nan: NanPolicy::NeverSelected, ..s };
        list.push(no_nan(set(16, 16, fp16, 16, 16, (Parallel, Value, 4))));
        list.push(no_nan(set(50, 11, bf16, 8, 8, (Shared, Pointer, 1))));
        let masked = |s: Self| Self { masked: true, ..s };
        list.push(masked(set(48, 5, fp16, 16, 8, (Parallel, Value, 4))));
        list.push(masked(no_nan(set(19, 19, fp16, 4, 4, (Parallel, Pointer, 1)))));
        list
    }

    fn proofs() -> Vec<Proof<Self>> {
        use Comparators::{Parallel, Shared};
        use NodeState::{Pointer, Value};
        let style = |comparators, node_state, levels_per_cycle| TreeStyle {
            comparators,
            node_state,
            levels_per_cycle,
            count_comparisons: false,
        };
        let base = Self {
            n: 4,
            k_max: 4,
            k_min: 4,
            format: NumberFormat::Uint { bits: 2 },
            nan: NanPolicy::TotalOrder,
            radix: 4,
            lanes: 4,
            tree: style(Parallel, Value, 2),
            masked: false,
        };
        let prove = |block| Proof { block, depth: 8, cover_depth: 40, induction: true };
        vec![
            prove(base.clone()),
            // Padding, two tiers.
            prove(Self { n: 5, k_max: 5, k_min: 5, lanes: 2, ..base.clone() }),
            prove(Self { tree: style(Parallel, Pointer, 1), ..base.clone() }),
            prove(Self { n: 3, k_max: 3, k_min: 3, radix: 2, lanes: 1, tree: style(Shared, Value, 1), ..base.clone() }),
            prove(Self { tree: style(Shared, Pointer, 1), ..base.clone() }),
            prove(Self { format: NumberFormat::Int { bits: 3 }, n: 3, k_max: 2, k_min: 3, ..base.clone() }),
            prove(Self { masked: true, n: 3, k_max: 3, k_min: 2, lanes: 2, ..base.clone() }),
            // A vector may end with either of the units.
            prove(Self { masked: true, radix: 2, lanes: 2, tree: style(Parallel, Value, 1), ..base }),
        ]
    }
}
