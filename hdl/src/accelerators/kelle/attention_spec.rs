//! Sizes of attention: heads, tokens of each, the cache.

use super::kelle_spec::KelleSpec;
use super::product_walk::ProductWalk;
use crate::blocks::common::RamImplementation;
use crate::blocks::common::row::Softmax;
use crate::blocks::common::stream::FifoStorage;
use crate::blocks::kelle::{KvCache, RefreshController, SystolicEvictor};
use crate::lang::{Field, Type, bits_for, bundle, index_width, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct AttentionSpec {
        /// The bus and the array.
        spec: KelleSpec = KelleSpec::default();
        /// Heads that the cache holds.
        heads: u32 = 3, in 1..=1024, tag "h";
        /// Tokens of a head after a step, at most; it has one row more.
        slots: u32 = 64, in 2..=4095, tag "n";
        /// Elements of a key or a value, at most.
        width: u32 = 64, in 2..=4096, note "a multiple of spec.columns", tag "d";
        /// Query heads of a head, at most.
        group: u32 = 3, in 1..=64, tag "g";
        /// Bits of an importance.
        score_width: u32 = 8, in 1..=32, tag "s";
        /// Bits of the amount added to it, signed.
        amount_width: u32 = 9, in 2..=33, tag "m";
        /// Banks of a group of the cache.
        banks: u32 = 8, in 1..=64, note "a divisor of width", tag "b";
        /// Bits of a refresh interval.
        interval_width: u32 = 23, in 3..=31, tag "w";
        /// Refresh interval after a reset, in cycles.
        interval: u32 = 43_000, in 4..=2_147_483_647, tag "i";
        /// See refresh_controller; with less an access to both bytes may wait for ever at the shortest intervals.
        patience: u32 = 256, in 3..=65_535, tag "p";
        /// See refresh_controller.
        tick_log2: u32 = 8, in 0..=20, tag "t";
        /// Cached tokens can be written to memory, and come back.
        save: bool = true, tag "save";
        /// Where the bits of the cache are, see `ram`.
        implementation: RamImplementation = RamImplementation::Inferred;
        /// Bits of the cache decay in simulation.
        retention_model: bool = false, tag "retention", named "when set";
        /// Tokens of a head that may be kept as the inputs that they came from, at most. Their keys and values come
        /// again with each operation of attention.
        recompute: u32 = 0, in 0..=64, tag "x", named "when set";
    }
    rules = |p, rules| {
        let columns = p.spec.columns;
        rules.demand(p.width.is_multiple_of(columns), "width", p.width, format!("a multiple of {columns}"));
        rules.demand(p.width.is_multiple_of(p.banks), "banks", p.banks, format!("a divisor of width = {}", p.width));
        let group = p.group;
        rules.demand(group <= p.spec.tokens, "group", group, format!("at most spec.tokens = {}", p.spec.tokens));
        // Two numbers of 16 bits, the second one unsigned.
        let least = 32 + bits_for(p.entries().max(p.width).into());
        let allowed = format!("32 + bits of width and slots = {least} to 64");
        let sum = p.spec.accumulator_width;
        rules.demand(sum >= least, "spec.accumulator_width", sum, allowed);
        rules.part("heads", &p.cache());
        rules.part("slots", &p.evictor());
        rules.part("slots", &p.softmax());
    };
}

impl AttentionSpec {
    /// Rows of a head.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.slots + 1
    }

    /// Panels of the tokens of a head.
    #[must_use]
    pub fn panels(&self) -> u32 {
        self.entries().div_ceil(self.spec.rows)
    }

    /// Slices of a vector.
    #[must_use]
    pub fn slices(&self) -> u32 {
        self.width / self.spec.columns.max(1)
    }

    /// Beats of the bus of the longest vector.
    #[must_use]
    pub fn vector_beats(&self) -> u32 {
        self.width / self.spec.lanes().max(1)
    }

    /// Type of a position in the list of a head, and of the number of a row of it.
    #[must_use]
    pub fn position(&self) -> Type {
        uint(index_width(self.entries().into()))
    }

    /// Type of a number of tokens.
    #[must_use]
    pub fn count(&self) -> Type {
        uint(bits_for(self.entries().into()))
    }

    /// Type of the number of a head.
    #[must_use]
    pub fn head(&self) -> Type {
        uint(index_width(self.heads.into()))
    }

    /// Type of the number of a row of the cache.
    #[must_use]
    pub fn row(&self) -> Type {
        uint(index_width(self.rows().into()))
    }

    /// Rows of the cache.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.heads * self.entries()
    }

    /// Type of the number of a slot of a token that is kept as its input.
    #[must_use]
    pub fn slot(&self) -> Type {
        uint(index_width(self.recompute.into()))
    }

    /// Type of the number of a slot among the slots of all heads.
    #[must_use]
    pub fn place(&self) -> Type {
        uint(index_width((self.heads * self.recompute).into()))
    }

    /// Type of a number of query heads.
    #[must_use]
    pub fn groups(&self) -> Type {
        uint(bits_for(self.group.into()))
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> KvCache {
        KvCache {
            banks: self.banks,
            lanes: self.width / self.banks.max(1),
            refresh: RefreshController {
                rows: self.rows(),
                interval_width: self.interval_width,
                interval: self.interval,
                patience: self.patience,
                tick_log2: self.tick_log2,
                ..RefreshController::default()
            },
            heads: self.heads,
            score_width: self.score_width,
            amount_width: self.amount_width,
            implementation: self.implementation,
            retention_model: self.retention_model,
            transient: self.recompute > 0,
            restores: self.save,
        }
    }

    /// The unit that finds the victim.
    #[must_use]
    pub fn evictor(&self) -> SystolicEvictor {
        SystolicEvictor {
            rows: self.spec.rows,
            score_width: self.score_width,
            amount_width: self.amount_width,
            passes: self.panels(),
        }
    }

    /// Softmax of the scores of a query.
    #[must_use]
    pub fn softmax(&self) -> Softmax {
        let (lanes, max_beats) = (self.spec.lanes(), self.entries().div_ceil(self.spec.lanes().max(1)));
        Softmax { lanes, max_beats, buffer: 2 * max_beats, storage: FifoStorage::Memory }
    }

    /// The unit that leads the array.
    #[must_use]
    pub fn walk(&self) -> ProductWalk {
        let tiles = self.slices().max(self.panels());
        ProductWalk { spec: self.spec.clone(), attention: true, vectors: self.group, tiles }
    }
}

bundle! {
    /// Size of a token's work, and its head.
    pub struct AttentionSize(p: AttentionSpec) {
        /// Head.
        head: Field = p.head(),
        /// Query heads.
        queries: Field = p.groups(),
        /// Slices of a vector.
        slices: Field = uint(bits_for(p.slices().into())),
        /// Tokens before the new one.
        old: Field = p.count(),
        /// First tokens that stay.
        sink: Field = uint(16),
        /// Recent tokens that stay.
        window: Field = uint(16),
        /// Products are shifted by so much before they count.
        shift: Field = uint(6),
    }
}
