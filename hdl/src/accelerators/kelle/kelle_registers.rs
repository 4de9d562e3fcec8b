//! Registers that only `kelle_top` has.

use super::attention_spec::AttentionSpec;
use crate::accelerators::registers::{OwnRegisters, VectorCaps};
use crate::lang::registers::{Constant, ReadOnly};
use crate::lang::{parameters, registers};

parameters! {
    /// What a driver needs to know of `kelle_top`.
    pub struct KelleCaps {
        /// Sizes of the array, of linear layers and of attention.
        attention: AttentionSpec = AttentionSpec::default();
        /// Its vector unit.
        vector: VectorCaps = VectorCaps { base: 0x118, ..VectorCaps::default() };
    }
}

registers! {
    /// What drivers need to know of `kelle_top`, and what it counts.
    pub struct KelleFields(p: KelleCaps) {
        /// The array.
        CAPS at 0x100 {
            /// Rows of PEs.
            rows: Constant = (16, p.attention.spec.rows.into()) at 0,
            /// Columns of PEs.
            columns: Constant = (16, p.attention.spec.columns.into()) at 16,
        }
        /// Linear layers.
        LINEAR at 0x104 {
            /// Rows of an operation, at most.
            tokens: Constant = (16, p.attention.spec.tokens.into()) at 0,
            /// Channels, at most.
            inner: Constant = (16, p.attention.spec.inner.into()) at 16,
        }
        /// Heads.
        HEADS at 0x108 {
            /// Heads that the cache holds.
            heads: Constant = (16, p.attention.heads.into()) at 0,
            /// Tokens of a head after a step, at most.
            slots: Constant = (16, p.attention.slots.into()) at 16,
        }
        /// Their vectors.
        VECTORS at 0x10c {
            /// Elements of a key or a value, at most.
            width: Constant = (16, p.attention.width.into()) at 0,
            /// Query heads of a head, at most.
            group: Constant = (8, p.attention.group.into()) at 16,
            /// Elements of a beat of the softmax of scores.
            score_lanes: Constant = (8, p.attention.spec.lanes().into()) at 24,
        }
        /// Their importance, and refresh.
        SCORES at 0x110 {
            /// Bits of an importance.
            score: Constant = (8, p.attention.score_width.into()) at 0,
            /// Bits of the amount added to it.
            amount: Constant = (8, p.attention.amount_width.into()) at 8,
            /// Bits of a refresh interval.
            interval: Constant = (8, p.attention.interval_width.into()) at 16,
            /// Cached tokens can be written to memory, and come back.
            save: Constant = (1, p.attention.save.into()) at 24,
            /// Tokens of a head that may be kept as x; 0: there is no such operation.
            recompute: Constant = (7, p.attention.recompute.into()) at 25,
        }
        /// The cache.
        CACHE_ROWS at 0x114 {
            /// Rows of a bank.
            cache_rows: Constant = (32, p.attention.rows().into()) at 0,
        }
        /// Results of the job.
        OVERFLOWS at 0x120 {
            /// Results of products, and beats of rows with a result, that are saturated, infinite or no number.
            overflows: ReadOnly = 64 at 0,
        }
        /// Activations of the job.
        SATURATIONS at 0x128 {
            /// Activations that were saturated or no number.
            saturations: ReadOnly = 64 at 0,
        }
        /// Tokens of the job.
        EVICTIONS at 0x130 {
            /// Tokens that were evicted.
            evictions: ReadOnly = 64 at 0,
        }
        /// Refreshes in the time of the job.
        REFRESHES at 0x138 {
            /// Rows, of all four groups of banks.
            refreshes: ReadOnly = 64 at 0,
        }
        /// Cost of refreshes.
        REFRESH_STALLS at 0x140 {
            /// Cycles of the job in which an access to the cache waited for a refresh.
            refresh_stalls: ReadOnly = 64 at 0,
        }
    }
}

impl OwnRegisters for KelleFields {
    const NAME: &'static str = "kelle_registers";
    const ACCELERATOR: u32 = 5;

    fn vector(spec: &KelleCaps) -> Option<VectorCaps> {
        Some(spec.vector.clone())
    }
}
