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
    CatalogBlock, Field, FieldArray, FieldArrayOption, FieldOption, In, InStream, Out, OutArray, OutOption, OutStream,
    Proof, bit, bits_for, bundle, index_width, parameters, ports, power_of_two, uint,
};

mod hardware;
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
