//! Ports of the retention model, from the top to the cache: times of its cells go in, what is done to its rows comes out.

use super::attention_spec::AttentionSpec;
use crate::blocks::kelle::KvCachePorts;
use crate::blocks::kelle::edram_bank::TIME_WIDTH;
use crate::lang::{InOption, Module, OutOption, Signal, bit, index_width, ports, uint};

ports! {
    /// For simulation: without `retention_model` there are none.
    pub struct RetentionPorts(p: &AttentionSpec) {
        /// Retention model: set the time of a cell, of the group `cell_group_i`.
        cell_write_i: InOption = bit().when(p.retention_model),
        /// Group of the cell: 0 high bytes of keys, 1 low ones, 2 and 3 those of values.
        cell_group_i: InOption = uint(2).when(p.retention_model),
        /// Bank of the cell.
        cell_bank_i: InOption = uint(index_width(p.banks.into())).when(p.retention_model),
        /// Row of the cell.
        cell_row_i: InOption = p.row().when(p.retention_model),
        /// Bit of the cell.
        cell_bit_i: InOption = uint(index_width(u64::from(8 * p.cache().lanes))).when(p.retention_model),
        /// Cycles for which it holds its bit.
        cell_time_i: InOption = uint(TIME_WIDTH).when(p.retention_model),
        /// Retention model: the cache is accessed in this cycle; of no meaning otherwise what follows of the access.
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
        /// Per row: it holds a token with a high score.
        cache_classes_o: OutOption = uint(p.rows()).when(p.retention_model),
    }
}

impl RetentionPorts {
    fn inputs(&self) -> [Option<Signal>; 6] {
        [self.cell_write_i, self.cell_group_i, self.cell_bank_i, self.cell_row_i, self.cell_bit_i, self.cell_time_i]
    }

    fn outputs(&self) -> [Option<Signal>; 12] {
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
            self.cache_classes_o,
        ]
    }

    /// Those of a part inside are one's own.
    pub(super) fn connect(&self, m: &mut Module, inside: &Self) {
        connect(m, &inside.inputs(), &self.inputs());
        connect(m, &self.outputs(), &inside.outputs());
    }

    /// Those of the cache itself. `made`: there is an access, it is a write, of the value, of high bytes, of low ones, and
    /// its row; `evicts`: a token goes, and its row.
    pub(super) fn of_cache(&self, m: &mut Module, cache: &KvCachePorts, made: [Signal; 6], evicts: [Signal; 2]) {
        let cells = [
            cache.cell_write_i,
            cache.cell_group_i,
            cache.cell_bank_i,
            cache.cell_row_i,
            cache.cell_bit_i,
            cache.cell_time_i,
        ];
        connect(m, &cells, &self.inputs());
        let (classes, rows) = (cache.high_o.packed(), cache.refresh_row_o.packed());
        let (reads, writes) = (cache.refresh_read_o.packed(), cache.refresh_write_o.packed());
        let from: Vec<_> = made.into_iter().chain(evicts).chain([reads, writes, rows, classes]).map(Some).collect();
        connect(m, &self.outputs(), &from);
        if self.cache_access_o.is_none() {
            [classes, reads, rows].into_iter().for_each(|signal| m.unused(signal));
        }
    }
}

/// What is not there is not connected.
fn connect(m: &mut Module, to: &[Option<Signal>], from: &[Option<Signal>]) {
    for (&to, &from) in to.iter().zip(from) {
        if let (Some(to), Some(from)) = (to, from) {
            m.connect(to, from);
        }
    }
}
