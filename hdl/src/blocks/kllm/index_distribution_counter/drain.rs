//! The drain: a snapshot of the complete column, read in bin order.

use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts, Log};
use crate::blocks::common::number_format::count_ones;
use crate::lang::{Array, Module, Signal, bit, bits_for, cat, mux, or_all, reduce, uint};

/// A row of bins and what goes with it.
pub(super) struct Row<'a> {
    /// Bit planes of the counts of the row's bins.
    pub planes: Vec<Signal>,
    /// Overflows of all bins.
    pub log: Option<&'a Log>,
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
        let finishing = m.wire("finishing", io.bins.fire() & io.bins.field("last"));
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
        let of = Row { planes, log: source.log.as_ref(), row: row.q, integer: source.integer };
        let count = self.count(m, "drained", &of, column.q);
        let width = self.a_bits + self.b_bits;
        m.connect(io.bins.valid, draining);
        m.connect(io.bins.field("bin"), mux(source.integer, row.q.extend(width), cat(&[row.q, column.q])));
        m.connect(io.bins.field("count"), count);
        m.connect(io.bins.field("last"), end_of_row & last_row);
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
        let integer = keep("snapshot_integer_q", counting.integer);
        let half = keep("snapshot_half_q", counting.half);
        let log = counting.log.as_ref().map(|log| Log {
            bins: (0..).zip(&log.bins).map(|(e, &s)| keep(&format!("snapshot_log_{e}_q"), s)).collect(),
            used: (0..).zip(&log.used).map(|(e, &s)| keep(&format!("snapshot_log_used_{e}_q"), s)).collect(),
        });
        Counting { counts, log, integer, half }
    }

    /// The planes of row `row`: AND and OR, which is smaller than a tree of multiplexers.
    pub(super) fn read_row(&self, m: &mut Module, name: &str, counts: Array, row: Signal) -> Vec<Signal> {
        let here: Vec<_> = (0..self.rows()).map(|r| m.wire(&format!("{name}_row_{r}"), row.eq(r))).collect();
        let plane = |m: &mut Module, j: u32| {
            let chosen: Vec<_> =
                (0..self.rows()).map(|r| counts.at((r, j)) & here[r as usize].repeat(self.columns())).collect();
            m.wire(&format!("{name}_plane_{j}"), or_all(uint(self.columns()), &chosen))
        };
        (0..self.bin_width()).map(|j| plane(m, j)).collect()
    }

    /// The count of a bin of `row`: of its `column`, or the sum of all integers.
    pub(super) fn count(&self, m: &mut Module, name: &str, row: &Row<'_>, column: Signal) -> Signal {
        // A bin's own count reaches k, a sum of integers more.
        let (narrow, width) = (bits_for(u64::from(self.k)), self.count_width());
        let short = self.bin_width() - 1;
        let high_bits = narrow - short;
        let bin = |planes: u32, bit_of: &dyn Fn(Signal) -> Signal| {
            let planes = row.planes.iter().take(planes as usize);
            cat(&planes.rev().map(|&plane| bit_of(plane)).collect::<Vec<_>>())
        };
        let here = m.wire(&format!("{name}_bin"), bin(self.bin_width(), &|plane| plane.bit_at(column)));
        let counted = match row.log {
            None => here,
            Some(log) => {
                let index = m.wire(&format!("{name}_index"), cat(&[row.row, column]));
                let same: Vec<_> = log.bins.iter().zip(&log.used).map(|(&b, &used)| b.eq(index) & used).collect();
                let overflows = m.wire(&format!("{name}_overflows"), count_ones(&same));
                let bits = overflows.width();
                let overflows =
                    if bits > high_bits { overflows.truncate(high_bits) } else { overflows.extend(high_bits) };
                overflows.shl(short).wrapping_add(here)
            }
        };
        let bits: Vec<_> = (0..self.b_bits)
            .map(|j| {
                let of_bit = |c: u32, planes| bin(planes, &|plane| plane.bit(c));
                let ones = of_bit(j, self.bin_width());
                let ones = if row.log.is_none() {
                    ones
                } else {
                    // Of the overflows, as many bits as a count has beyond the short ones.
                    let overflows = of_bit(j + self.b_bits, high_bits.min(self.bin_width()));
                    overflows.extend(high_bits).shl(short).wrapping_add(ones)
                };
                m.wire(&format!("{name}_ones_{j}"), ones).shl(j).extend(width)
            })
            .collect();
        let sum = reduce(&bits, |a, b| a.wrapping_add(b)).unwrap_or(counted);
        let sum = m.wire(&format!("{name}_sum"), sum);
        m.wire(&format!("{name}_count"), mux(row.integer, sum, counted.extend(width)))
    }
}
