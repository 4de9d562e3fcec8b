//! The drain: a snapshot of the complete column, read in bin order.

use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts, Log};
use crate::blocks::common::arith::popcount;
use crate::lang::{Array, Module, Signal, bit, bits_for, cat, mux, or_all, reduce, uint};

/// A row of bins and what goes with it.
pub(super) struct Row {
    /// Bit planes of the counts of the row's bins.
    pub planes: Array,
    /// Overflows of all bins.
    pub log: Option<Log>,
    /// Number of the row.
    pub row: Signal,
    /// The bins count bits of integers.
    pub integer: Signal,
}

impl IndexDistributionCounter {
    pub(super) fn drain(
        &self,
        m: &mut Module,
        io: &IndexDistributionCounterPorts,
        control: &Control,
        counting: &Counting,
    ) {
        let finishing = m.wire("finishing", io.bins.fire() & io.bins.last);
        let (draining, copy);
        let source = if self.ping_pong {
            let busy = m.reg_init("draining_q", bit(), 0);
            draining = busy.q;
            m.connect(control.swap, control.complete & (!busy.q | finishing));
            busy.next(control.swap | (busy.q & !finishing));
            copy = self.snapshot(m, control, counting);
            &copy
        } else {
            draining = control.complete;
            m.connect(control.swap, finishing);
            counting
        };
        let row = m.reg_init("row_q", uint(self.a_bits), 0);
        let column = m.reg_init("column_q", uint(self.b_bits), 0);
        let moves = m.wire("moves", io.bins.fire());
        let end_of_row = m.wire("end_of_row", column.q.all() | source.integer);
        column.next_when(moves, mux(end_of_row, column.q.ty().lit(0), column.q.wrapping_add(1)));
        row.next_when(moves & end_of_row, mux(finishing, row.q.ty().lit(0), row.q.wrapping_add(1)));
        // The last row is all ones, and without its highest bit in the lower half.
        let last_row = if self.a_bits == 1 {
            row.q.eq(!source.half)
        } else {
            row.q.msb().eq(!source.half) & row.q.truncate(self.a_bits - 1).all()
        };
        let planes = self.read_row(m, "drained", source.counts, row.q);
        let of = Row { planes, log: source.log, row: row.q, integer: source.integer };
        let count = self.count(m, "drained", &of, column.q);
        let width = self.a_bits + self.b_bits;
        m.connect(io.bins.valid, draining);
        m.connect(io.bins.bin, mux(source.integer, row.q.extend(width), cat(&[row.q, column.q])));
        m.connect(io.bins.count, count);
        m.connect(io.bins.error, source.error);
        m.connect(io.bins.last, end_of_row & last_row);
    }

    /// A copy of the complete column.
    fn snapshot(&self, m: &mut Module, control: &Control, counting: &Counting) -> Counting {
        m.comment("The column that goes out.");
        let counts = m.grid("snapshot", uint(self.columns()), self.rows(), self.bin_width());
        m.for_each("snapshot_rows", self.rows(), |m, r| {
            m.for_each("snapshot_planes", self.bin_width(), |m, j| {
                let count = m.reg("snapshot_q", uint(self.columns()));
                count.next_when(control.swap, counting.counts.at((r, j)));
                m.connect(counts.at((r, j)), count.q);
            });
        });
        let mut keep = |name: &str, value: Signal| {
            let kept = m.reg(name, value.ty());
            kept.next_when(control.swap, value);
            kept.q
        };
        let (integer, half) = (keep("snapshot_integer_q", counting.integer), keep("snapshot_half_q", counting.half));
        let error = keep("snapshot_error_q", counting.error);
        let log = counting.log.map(|log| {
            let entries = log.bins.count();
            let bins = m.regs("snapshot_log", log.bins.ty().element, entries);
            let used = m.regs("snapshot_log_used", bit(), entries);
            m.for_each("snapshot_log", entries, |m, e| {
                bins.next_when(m, e, control.swap, log.bins.at(e));
                used.next_when(m, e, control.swap, log.used.at(e));
            });
            Log { bins: bins.q, used: used.q }
        });
        Counting { counts, log, integer, half, error }
    }

    /// The planes of row `row`: AND and OR, which is smaller than a tree of multiplexers.
    pub(super) fn read_row(&self, m: &mut Module, name: &str, counts: Array, row: Signal) -> Array {
        let here = m.nets(&format!("{name}_row"), bit(), self.rows());
        m.for_each(&format!("{name}_row"), self.rows(), |m, r| m.connect(here.at(r), row.eq(r.value(self.a_bits))));
        let planes = m.nets(&format!("{name}_plane"), uint(self.columns()), self.bin_width());
        m.for_each(&format!("{name}_plane"), self.bin_width(), |m, j| {
            let of_row = |r: u32| counts.at((r, j)) & here.at(r).repeat(self.columns());
            let chosen: Vec<_> = (0..self.rows()).map(of_row).collect();
            m.connect(planes.at(j), or_all(uint(self.columns()), &chosen));
        });
        planes
    }

    /// The count of a bin of `row`: of its `column`, or the sum of all integers.
    pub(super) fn count(&self, m: &mut Module, name: &str, row: &Row, column: Signal) -> Signal {
        // A bin's own count reaches k, a sum of integers more.
        let (narrow, width) = (bits_for(u64::from(self.k)), self.count_width());
        let short = self.bin_width() - 1;
        let high_bits = narrow - short;
        let bin = m.nets(&format!("{name}_bin"), bit(), self.bin_width());
        m.for_each(&format!("{name}_bin"), self.bin_width(), |m, j| {
            m.connect(bin.at(j), row.planes.at(j).bit_at(column));
        });
        let here = m.wire(&format!("{name}_short_count"), bin.packed());
        let counted = match row.log {
            None => here,
            Some(log) => {
                let index = m.wire(&format!("{name}_index"), cat(&[row.row, column]));
                let same = m.nets(&format!("{name}_logged"), bit(), log.bins.count());
                m.for_each(&format!("{name}_logged"), log.bins.count(), |m, e| {
                    m.connect(same.at(e), log.bins.at(e).eq(index) & log.used.at(e));
                });
                let overflows = popcount::ones(m, &format!("{name}_overflows"), &same.elements());
                let bits = overflows.width();
                let overflows =
                    if bits > high_bits { overflows.truncate(high_bits) } else { overflows.extend(high_bits) };
                overflows.shl(short).wrapping_add(here)
            }
        };
        let ones = m.nets(&format!("{name}_ones"), uint(narrow), self.b_bits);
        m.for_each(&format!("{name}_ones"), self.b_bits, |m, j| {
            let of_bit = |first: u32, planes: u32| {
                let bits: Vec<_> = (0..planes).rev().map(|p| row.planes.at(p).slice_at(j + first, 1)).collect();
                cat(&bits)
            };
            let of_counts = of_bit(0, self.bin_width());
            if row.log.is_none() {
                m.connect(ones.at(j), of_counts);
                return;
            }
            // Of the overflows, as many bits as a count has above the short registers.
            let overflows = of_bit(self.b_bits, high_bits.min(self.bin_width()));
            m.connect(ones.at(j), overflows.extend(high_bits).shl(short).wrapping_add(of_counts));
        });
        let weighted: Vec<_> = (0..self.b_bits).map(|j| ones.at(j).shl(j).extend(width)).collect();
        let sum = reduce(&weighted, |a, b| a.wrapping_add(b)).unwrap_or(counted);
        let sum = m.wire(&format!("{name}_sum"), sum);
        m.wire(&format!("{name}_count"), mux(row.integer, sum, counted.extend(width)))
    }
}
