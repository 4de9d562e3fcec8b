//! Ports of the retention model, from the top to the cache: times of its cells go in, accesses to its rows come out.

use super::attention_spec::AttentionSpec;
use crate::blocks::kelle::KvCachePorts;
use crate::blocks::kelle::edram_bank::TIME_WIDTH;
use crate::lang::{InOption, Module, OutOption, Signal, bit, index_width, ports, sint, uint};

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

/// An access that is made: whether, a write, of the value, of high bytes, of low ones, its row.
type Made = [Signal; 6];
/// A token goes, and its row.
type Evicts = [Signal; 2];
/// Something is added to a score, the row of it a cycle before, the amount; a step ends, of a head; lowest high score.
type Scored = [Signal; 6];

impl RetentionPorts {
    fn inputs(&self) -> [Option<Signal>; 6] {
        [self.cell_write_i, self.cell_group_i, self.cell_bank_i, self.cell_row_i, self.cell_bit_i, self.cell_time_i]
    }

    fn outputs(&self) -> [Option<Signal>; 20] {
        [
            self.cache_access_o,
            self.cache_write_o,
            self.cache_value_o,
            self.cache_high_o,
            self.cache_low_o,
            self.cache_row_o,
            self.cache_evict_o,
            self.cache_evict_row_o,
            self.cache_refresh_read_o,
            self.cache_refresh_write_o,
            self.cache_refresh_row_o,
            self.cache_update_o,
            self.cache_update_row_o,
            self.cache_amount_o,
            self.cache_step_o,
            self.cache_step_head_o,
            self.cache_threshold_o,
            self.cache_keep_o,
            self.cache_drop_o,
            self.cache_drop_row_o,
        ]
    }

    /// Connects the ports to the ports of a part inside.
    pub(super) fn connect(&self, m: &mut Module, inside: &Self) {
        connect(m, &inside.inputs(), &self.inputs());
        connect(m, &self.outputs(), &inside.outputs());
    }

    /// Connects the ports to the cache itself.
    pub(super) fn of_cache(
        &self,
        m: &mut Module,
        cache: &KvCachePorts,
        (made, evicts, scored): (Made, Evicts, Scored),
        [keep, drop]: [Option<Signal>; 2],
    ) {
        let cells = [
            cache.cell_write_i,
            cache.cell_group_i,
            cache.cell_bank_i,
            cache.cell_row_i,
            cache.cell_bit_i,
            cache.cell_time_i,
        ];
        connect(m, &cells, &self.inputs());
        let rows = cache.refresh_row_o.packed();
        let (reads, writes) = (cache.refresh_read_o.packed(), cache.refresh_write_o.packed());
        if self.cache_access_o.is_none() {
            [reads, rows].into_iter().for_each(|signal| m.unused(signal));
            return;
        }
        let [adds, asked_row, amount, step, head, threshold] = scored;
        let row = m.reg("updated_row_q", asked_row.ty());
        row.next(asked_row);
        let refreshes = [reads, writes, rows];
        let scores = [adds, row.q, amount, step, head, threshold];
        let from = made.into_iter().chain(evicts).chain(refreshes).chain(scores).map(Some);
        let dropped = [keep, drop, Some(row.q)];
        connect(m, &self.outputs(), &from.chain(dropped).collect::<Vec<_>>());
    }
}

/// Connects the ports that exist.
fn connect(m: &mut Module, to: &[Option<Signal>], from: &[Option<Signal>]) {
    for (&to, &from) in to.iter().zip(from) {
        if let (Some(to), Some(from)) = (to, from) {
            m.connect(to, from);
        }
    }
}
