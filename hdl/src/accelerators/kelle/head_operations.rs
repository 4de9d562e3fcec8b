//! Descriptors of the operations on heads other than attention, and of their refresh.

use crate::blocks::kelle::refresh_controller::REFRESH_CYCLES;
use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct ClearOperation {
        /// Heads that the cache holds.
        heads: u32 = 3, in 1..=1024, tag "h";
    }
}

operation! {
    /// Empties heads.
    pub struct ClearOperationPorts(p: &ClearOperation) = "kelle_clear_operation", 128 bytes {
        /// The first head.
        first at 32: Size = (32, 0..=p.heads - 1);
        /// How many heads. The cache holds all of them.
        heads at 36: Size = (32, 1..=p.heads);
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct RefreshOperation {
        /// Rows of the cache.
        rows: u32 = 195, in 3..=4_194_304, tag "r";
        /// Bits of an importance.
        score_width: u32 = 8, in 1..=32, tag "s";
        /// Bits of a refresh interval.
        interval_width: u32 = 23, in 3..=31, tag "w";
    }
    rules = |p, rules| {
        let longest = p.longest();
        let allowed = format!("at most 2^interval_width - 1 = {longest} by {REFRESH_CYCLES} cycles a row");
        rules.demand(p.shortest() <= longest, "rows", p.rows, allowed);
    };
}

impl RefreshOperation {
    /// Cycles from refresh to refresh, at least: all rows take their turn in them.
    fn shortest(&self) -> u32 {
        REFRESH_CYCLES * self.rows
    }

    fn longest(&self) -> u32 {
        (1 << self.interval_width) - 1
    }

    fn highest_score(&self) -> u32 {
        u32::MAX >> (32 - self.score_width)
    }
}

operation! {
    /// Sets how often rows of the cache are refreshed.
    pub struct RefreshOperationPorts(p: &RefreshOperation) = "kelle_refresh_operation", 128 bytes {
        /// Lowest high importance.
        threshold at 32: Size = (32, 0..=p.highest_score());
        /// Cycles from refresh to refresh of the high bytes of tokens with high importance.
        high_msb at 36: Size = (32, p.shortest()..=p.longest());
        /// Cycles from refresh to refresh of their low bytes.
        high_lsb at 40: Size = (32, p.shortest()..=p.longest());
        /// Cycles from refresh to refresh of the high bytes of all other tokens.
        low_msb at 44: Size = (32, p.shortest()..=p.longest());
        /// Cycles from refresh to refresh of their low bytes.
        low_lsb at 48: Size = (32, p.shortest()..=p.longest());
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct SaveOperation {
        /// Heads that the cache holds.
        heads: u32 = 3, in 1..=1024, tag "h";
        /// Tokens that a head keeps, at most.
        slots: u32 = 64, in 2..=4095, tag "n";
        /// Elements of a vector, at most.
        width: u32 = 64, in 2..=4096, tag "d";
    }
}

operation! {
    /// Writes cached tokens to memory.
    pub struct SaveOperationPorts(p: &SaveOperation) = "kelle_save_operation", 128 bytes {
        /// The head of the tokens.
        head at 32: Size = (32, 0..=p.heads - 1);
        /// Position of the first token that is written; the oldest token has position 0.
        first at 36: Size = (32, 0..=p.slots - 1);
        /// How many tokens. The head must have them.
        tokens at 40: Size = (32, 1..=p.slots);
        /// Elements of a vector: a multiple of the columns of the array.
        elements at 44: Size = (32, 1..=p.width);
        /// Bytes from row to row.
        out_stride at 48: Stride = ();
        /// Where the tokens go. A row has 64 bytes with the importance, then key and value, 16 bits an element.
        out_address at 56: Address = ();
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct RestoreOperation {
        /// Heads that the cache holds.
        heads: u32 = 3, in 1..=1024, tag "h";
        /// Tokens that a head keeps, at most.
        slots: u32 = 64, in 2..=4095, tag "n";
        /// Elements of a vector, at most.
        width: u32 = 64, in 2..=4096, tag "d";
    }
}

operation! {
    /// Brings saved tokens back to a head: they become its youngest ones, with the scores that they had.
    pub struct RestoreOperationPorts(p: &RestoreOperation) = "kelle_restore_operation", 128 bytes {
        /// The head that gets the tokens.
        head at 32: Size = (32, 0..=p.heads - 1);
        /// Tokens that the head has: it must have so many.
        first at 36: Size = (32, 0..=p.slots - 1);
        /// How many tokens come. The head has at most as many as it keeps.
        tokens at 40: Size = (32, 1..=p.slots);
        /// Elements of a vector: a multiple of the columns of the array.
        elements at 44: Size = (32, 1..=p.width);
        /// Bytes from row to row.
        saved_stride at 48: Stride = ();
        /// Where the tokens are, in rows as the save operation writes them, the oldest first.
        saved_address at 56: Address = ();
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct RecomputeOperation {
        /// Heads that the cache holds.
        heads: u32 = 3, in 1..=1024, tag "h";
        /// Tokens that a head keeps, at most.
        slots: u32 = 64, in 2..=4095, tag "n";
        /// Tokens of a head that may be kept as x.
        recompute: u32 = 8, in 1..=64, tag "x";
    }
}

operation! {
    /// Gives a token a slot: its key and value are recomputed instead of cached.
    pub struct RecomputeOperationPorts(p: &RecomputeOperation) = "kelle_recompute_operation", 128 bytes {
        /// The head of the token.
        head at 32: Size = (32, 0..=p.heads - 1);
        /// The position of the token; the oldest token has position 0. The head must have it.
        position at 36: Size = (32, 0..=p.slots - 1);
        /// The slot of the token from now on.
        slot at 40: Size = (32, 0..=p.recompute - 1);
    }
}
