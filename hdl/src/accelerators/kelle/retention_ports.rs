//! Ports of the retention model, from the top to the cache: times of its cells go in, accesses to its rows come out.

use super::attention_spec::AttentionSpec;
use crate::blocks::kelle::KvCachePorts;
use crate::blocks::kelle::edram_bank::TIME_WIDTH;
use crate::lang::{InOption, Module, OutOption, Signal, bit, connect_all, index_width, ports, sint, uint};

ports! {
    /// For simulation: without `retention_model` there are none.
    pub struct RetentionPorts(p: &AttentionSpec) {
        /// Retention model: set the time of a cell, of the group `cell_group_i`.
        cell_write_i: InOption = bit().when(p.retention_model),
        /// Group of the cell: 0 high bytes of keys, 1 low bytes of keys, 2 high bytes of values, 3 low bytes of values.
        cell_group_i: InOption = uint(2).when(p.retention_model),
        /// Bank of the cell.
        cell_bank_i: InOption = uint(index_width(p.banks.into())).when(p.retention_model),
        /// Row of the cell.
        cell_row_i: InOption = p.row().when(p.retention_model),
        /// Bit of the cell.
        cell_bit_i: InOption = uint(index_width(u64::from(8 * p.cache().lanes))).when(p.retention_model),
        /// Cycles for which it holds its bit.
        cell_time_i: InOption = uint(TIME_WIDTH).when(p.retention_model),
        /// Retention model: the cache is accessed in this cycle; otherwise the following ports of the access have no
        /// meaning.
        cache_access_o: OutOption = bit().when(p.retention_model),
        /// A new token is written; otherwise read.
        cache_write_o: OutOption = bit().when(p.retention_model),
        /// The value is read, not the key.
        cache_value_o: OutOption = bit().when(p.retention_model),
        /// High bytes are read.
        cache_high_o: OutOption = bit().when(p.retention_model),
        /// Low bytes are read.
        cache_low_o: OutOption = bit().when(p.retention_model),
        /// Row of the access.
        cache_row_o: OutOption = p.row().when(p.retention_model),
        /// Score of the token that is written.
        cache_score_o: OutOption = uint(p.score_width).when(p.retention_model && p.save),
        /// A token goes in this cycle.
        cache_evict_o: OutOption = bit().when(p.retention_model),
        /// Its row.
        cache_evict_row_o: OutOption = p.row().when(p.retention_model),
        /// Banks of high bytes (bit 0), and of low bytes (bit 1), read a row for a refresh.
        cache_refresh_read_o: OutOption = uint(2).when(p.retention_model),
        /// They write it back.
        cache_refresh_write_o: OutOption = uint(2).when(p.retention_model),
        /// Row of the refresh of high bytes, then of low bytes.
        cache_refresh_row_o: OutOption = uint(2 * p.row().width).when(p.retention_model),
        /// Something is added to a score in this cycle.
        cache_update_o: OutOption = bit().when(p.retention_model),
        /// Row of the score.
        cache_update_row_o: OutOption = p.row().when(p.retention_model),
        /// The amount that is added.
        cache_amount_o: OutOption = sint(p.amount_width).when(p.retention_model),
        /// The step of a head ends: its scores age if one saturated.
        cache_step_o: OutOption = bit().when(p.retention_model),
        /// The head.
        cache_step_head_o: OutOption = p.head().when(p.retention_model),
        /// Lowest high score.
        cache_threshold_o: OutOption = uint(p.score_width).when(p.retention_model),
        /// The token that is written is in its row already, and keeps its score.
        cache_keep_o: OutOption = bit().when(p.retention_model && p.recompute > 0),
        /// Key and value of the row of the score that was looked at in the cycle before go, its score stays.
        cache_drop_o: OutOption = bit().when(p.retention_model && p.recompute > 0),
        /// That row.
        cache_drop_row_o: OutOption = p.row().when(p.retention_model && p.recompute > 0),
    }
}

/// What the cache does in a cycle. Without an access its fields have no meaning, and likewise for the other events.
pub(super) struct CacheWork {
    /// The cache is accessed.
    pub(super) access: Signal,
    /// The access writes a new token; otherwise it reads.
    pub(super) write: Signal,
    /// It is of the value, not of the key.
    pub(super) value: Signal,
    /// It reads high bytes.
    pub(super) high: Signal,
    /// It reads low bytes.
    pub(super) low: Signal,
    /// Row of the access.
    pub(super) row: Signal,
    /// Score of the token that is written, where it may not be 0.
    pub(super) score: Option<Signal>,
    /// A token goes.
    pub(super) evict: Signal,
    /// Its row.
    pub(super) evict_row: Signal,
    /// Something is added to the score whose row was `score_row` a cycle before.
    pub(super) update: Signal,
    /// Row of the score that is looked at.
    pub(super) score_row: Signal,
    /// What is added.
    pub(super) amount: Signal,
    /// The step of a head ends.
    pub(super) step: Signal,
    /// The head.
    pub(super) step_head: Signal,
    /// Lowest high score.
    pub(super) threshold: Signal,
    /// The token that is written keeps its score.
    pub(super) keep: Option<Signal>,
    /// Key and value of the row whose score was looked at go, the score stays.
    pub(super) drop: Option<Signal>,
}

impl RetentionPorts {
    /// Connects the ports to the ports of a part inside.
    pub(super) fn connect(&self, m: &mut Module, inside: &Self) {
        connect_all!(m, inside, self, [cell_write_i, cell_group_i, cell_bank_i, cell_row_i, cell_bit_i, cell_time_i]);
        connect_all!(m, self, inside, [cache_access_o, cache_write_o, cache_value_o]);
        connect_all!(m, self, inside, [cache_high_o, cache_low_o, cache_row_o, cache_score_o]);
        connect_all!(m, self, inside, [cache_evict_o, cache_evict_row_o]);
        connect_all!(m, self, inside, [cache_refresh_read_o, cache_refresh_write_o, cache_refresh_row_o]);
        connect_all!(m, self, inside, [cache_update_o, cache_update_row_o, cache_amount_o]);
        connect_all!(m, self, inside, [cache_step_o, cache_step_head_o, cache_threshold_o]);
        connect_all!(m, self, inside, [cache_keep_o, cache_drop_o, cache_drop_row_o]);
    }

    /// Connects the ports to the cache itself.
    pub(super) fn of_cache(&self, m: &mut Module, cache: &KvCachePorts, work: &CacheWork) {
        let io = self;
        connect_all!(m, cache, io, [cell_write_i, cell_group_i, cell_bank_i, cell_row_i, cell_bit_i, cell_time_i]);
        let rows = cache.refresh_row_o.packed();
        let (reads, writes) = (cache.refresh_read_o.packed(), cache.refresh_write_o.packed());
        if io.cache_access_o.is_none() {
            [reads, rows].into_iter().for_each(|signal| m.unused(signal));
            return;
        }
        let row = m.reg("updated_row_q", work.score_row.ty());
        row.next(work.score_row);
        for (to, from) in [
            (io.cache_access_o, work.access),
            (io.cache_write_o, work.write),
            (io.cache_value_o, work.value),
            (io.cache_high_o, work.high),
            (io.cache_low_o, work.low),
            (io.cache_row_o, work.row),
            (io.cache_evict_o, work.evict),
            (io.cache_evict_row_o, work.evict_row),
            (io.cache_refresh_read_o, reads),
            (io.cache_refresh_write_o, writes),
            (io.cache_refresh_row_o, rows),
            (io.cache_update_o, work.update),
            (io.cache_update_row_o, row.q),
            (io.cache_amount_o, work.amount),
            (io.cache_step_o, work.step),
            (io.cache_step_head_o, work.step_head),
            (io.cache_threshold_o, work.threshold),
        ] {
            m.connect_option(to, Some(from));
        }
        m.connect_option(io.cache_score_o, work.score);
        m.connect_option(io.cache_keep_o, work.keep);
        m.connect_option(io.cache_drop_o, work.drop);
        m.connect_option(io.cache_drop_row_o, Some(row.q));
    }
}
